"""How a seal is written, and what is refused."""

import math

import pytest

from privee.errors import SettingError
from privee.vfl.seal import Seal, parse_seal, parse_seals, told_by


@pytest.mark.parametrize("text", ["codes=8", "codes=4,epsilon=2.5", "codes=16,learn=own", "signs=3,epsilon=1"])
def test_a_seal_is_written_as_it_was_read(text):
    seal = parse_seal(text)
    assert parse_seal(seal.spec) == seal == Seal.from_dict(seal.as_dict())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("8", "a seal is written codes=8"),
        ("codes=8,codes=9", "a seal is written"),
        ("codes=1", "codes of a seal must be a whole number from 2 to 256, got 1"),
        ("codes=257", "from 2 to 256, got 257"),
        ("codes=eight", "codes of a seal must be a number, got 'eight'"),
        ("codes=8,epsilon=0", "epsilon of a seal must be above 0"),
        ("codes=8,epsilon=nan", "epsilon of a seal must be above 0"),
        ("codes=8,learn=alone", "learn must be joint or own, got 'alone'"),
        ("signs=9", "signs of a seal must be a whole number from 1 to 8, got 9"),
        ("codes=8,signs=3", "codes or signs, not both"),
        ("signs=3,learn=own", "signs are learned with the task"),
    ],
)
def test_what_is_no_seal_is_refused_in_one_line(text, words):
    with pytest.raises(SettingError, match=words) as told:
        parse_seal(text)
    assert "\n" not in str(told.value)


def test_each_party_can_have_its_own_seal():
    seals = parse_seals(["codes=8", "shop:codes=4,epsilon=1"], ["shop", "clinic"], ["income", "shop:age"])
    assert (seals["clinic"].codes, seals["shop"].codes) == (8, 4)
    assert (seals["clinic"].sensitive, seals["shop"].sensitive) == (("income",), ("income", "age"))
    with pytest.raises(SettingError, match="the passive parties are shop, clinic"):
        parse_seals(["bank:codes=8"], ["shop", "clinic"])


def test_what_can_leave_is_the_theorys():
    told = told_by(parse_seal("codes=4,epsilon=2"))
    assert told["bits"] == 2
    assert told["leaked_bits"] == pytest.approx(math.log2(4 * math.exp(2) / (math.exp(2) + 3)))
    assert parse_seal("codes=4,epsilon=2").keeps == pytest.approx((math.exp(2) - 1) / (math.exp(2) + 3))
