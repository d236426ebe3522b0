"""What a party's ledger pins and counts, whoever asks: one code for ever, and never more than the limits."""

import math

import numpy as np
import pytest

from privee.durable.whole_numbers import UNIT
from privee.errors import PriveeError, SettingError
from privee.party.ledger import PartyLedger, PartyLimits, SealTerms
from privee.party.ledger.terms import Call, Cost
from tests._support.party_ledger_cases import OTHER_SEAL, SEAL, THIRD_SEAL, codes_of, count, pin

# Codes


def test_a_code_stays_the_same_whatever_is_offered_later(place):
    with place.open() as ledger:
        first = pin(ledger, "abca", [1, 2, 3, 4])
        assert (first.codes.tolist(), first.new, first.refused.any()) == ([1, 2, 3, 1], 3, False)
        again = pin(ledger, "cbad", [9, 9, 9, 4])
        assert (again.codes.tolist(), again.new) == ([3, 2, 1, 4], 1)
        assert first.codes.dtype == again.codes.dtype == np.uint8
    with place.open() as ledger:
        assert codes_of(ledger, "abcd") == [1, 2, 3, 4]
        assert pin(ledger, "a", [7], OTHER_SEAL).codes.tolist() == [7]
        assert codes_of(ledger, "a") == [1]


def test_codes_of_all_seals_count_against_one_limit(place):
    with place.open(bits=8) as ledger:  # two codes of four bits
        assert pin(ledger, "ab", [1, 2]).new == pin(ledger, "a", [3], OTHER_SEAL).new + 1 == 2
        third = pin(ledger, "abc", [5, 6, 7], THIRD_SEAL)
        assert third.refused.tolist() == [True, False, False]
        assert (third.codes.tolist(), third.new) == ([0, 6, 7], 2)
        for _ in range(3):  # refused for ever, and nothing is stored for it
            assert pin(ledger, "a", [5], THIRD_SEAL).refused.all()
        assert pin(ledger, "a", [9]).codes.tolist() == [1]  # what it has is still answered
        assert ledger.status().most.bits == 8 * UNIT


def test_a_call_can_be_refused_whole(place):
    with place.open(bits=4) as ledger:
        pin(ledger, "a", [1])
        refused = pin(ledger, "bac", [5, 6, 7], OTHER_SEAL, whole=True)
        assert refused.refused.tolist() == [False, True, False]
        assert (refused.codes.tolist(), refused.new) == ([0, 0, 0], 0)
        status = ledger.status()
        assert (status.entities, status.sealed, set(status.codes)) == (1, 1, {SEAL.seal})
        assert pin(ledger, "bc", [8, 9], OTHER_SEAL, whole=True).codes.tolist() == [8, 9]


def test_limits_hold_for_what_is_first_asked_too(place):
    with place.open(bits=3.999) as ledger:
        assert pin(ledger, "a", [1]).refused.all()
        assert ledger.status().entities == 0
    with place.open(bits=4, epsilon=0.5) as ledger:
        assert not pin(ledger, "a", [1]).refused.any()
        assert pin(ledger, "a", [1], OTHER_SEAL).refused.all()


def test_without_a_proof_no_epsilon_is_enough(place):
    unproven = SealTerms("00" * 32, 16, None)
    with place.open() as ledger:
        pin(ledger, "a", [1], unproven)
        assert ledger.status().most.as_dict()["epsilon"] is None
    with place.open(epsilon=1e6) as ledger:
        assert pin(ledger, "b", [1], unproven).refused.all()
        assert pin(ledger, "a", [1]).refused.all()  # it has given away more than any epsilon
        assert not pin(ledger, "b", [1]).refused.any()


@pytest.mark.parametrize("codes", [2, 3, 5, 16, 17, 100, 255, 256])
def test_bits_are_rounded_up_and_exact_for_powers_of_two(codes):
    bits = SealTerms("00" * 32, codes).cost().bits
    assert bits >= math.log2(codes) * UNIT - 1e-3
    assert bits <= math.log2(codes) * UNIT + 2
    if codes & (codes - 1) == 0:
        assert bits == round(math.log2(codes)) * UNIT
        assert PartyLimits(bits=math.log2(codes)).allow(Cost(bits))


def test_ten_tenths_are_one(place):
    seals = [SealTerms(f"{number:064x}", 2, 0.1) for number in range(11)]
    with place.open(epsilon=1) as ledger:
        assert [bool(pin(ledger, "a", [1], seal).refused[0]) for seal in seals] == [False] * 10 + [True]


def test_a_seal_keeps_its_terms(place):
    with place.open() as ledger:
        pin(ledger, "a", [1])
        for codes, epsilon in ((8, 0.5), (16, 0.4), (16, None)):
            with pytest.raises(PriveeError, match="another number of codes or another epsilon"):
                pin(ledger, "b", [1], SealTerms(SEAL.seal, codes, epsilon))
        assert ledger.status().entities == 1


def test_what_is_no_code_is_refused(place):
    with place.open() as ledger:
        for wrong in (np.array([16], np.uint8), np.array([1], np.int64), np.array([1, 2], np.uint8)):
            with pytest.raises(PriveeError):
                ledger.pin(["a"], SEAL, wrong)
        assert ledger.status().entities == 0
        assert ledger.pin([], SEAL, np.zeros(0, np.uint8)).codes.shape == (0,)


@pytest.mark.parametrize("terms", [("ab", 4, None), ("AB" * 32, 4, None), ("ab" * 32, 1, None), ("ab" * 32, 257, None)])
def test_terms_that_make_no_sense(terms):
    with pytest.raises(SettingError):
        SealTerms(*terms)


@pytest.mark.parametrize("limits", [{"bits": 0}, {"epsilon": math.nan}, {"releases": 0}, {"variants": 1.5}])
def test_limits_that_make_no_sense(limits):
    with pytest.raises(SettingError, match="limit"):
        PartyLimits(**limits)


def test_many_entities_take_few_statements(place):
    names = [f"entity {number}" for number in range(2000)]
    with place.open(bits=4) as ledger:
        offered = np.arange(2000).astype(np.uint8) % 16
        assert (ledger.pin(names, SEAL, offered).codes == offered).all()
        again = ledger.pin(names[::-1], SEAL, offered)
        assert (again.codes == offered[::-1]).all()
        assert again.new == 0
        assert ledger.pin(names, OTHER_SEAL, offered).refused.all()


# Answers


def test_answers_are_counted_for_life(place):
    with place.open(releases=3) as ledger:
        assert count(ledger, "aab", "xxx") == [False] * 3
        assert count(ledger, "aab", "xxx") == [True, True, False]  # two more would be four
        assert count(ledger, "ac", "xx", whole=True) == [False, False]
    with place.open(releases=3) as ledger:
        assert count(ledger, "acb", "xxx") == [True, False, False]
        assert count(ledger, "ca", "xx", whole=True) == [False, True]  # nothing is counted for c either
        assert count(ledger, "c", "x") == [False]
        assert count(ledger, "cccc", "xxxx") == [True] * 4
        assert count(ledger, "dddd", "xxxx") == [True] * 4


def test_variants_are_counted_apart_from_answers(place):
    with place.open(variants=2) as ledger:
        assert count(ledger, "aab", "xyx") == [False] * 3
        assert count(ledger, "aab", "xyz") == [False] * 3
        assert count(ledger, "ab", "zx") == [True, False]
        assert count(ledger, "b", "y") == [True]  # x and z
        assert count(ledger, "ccc", "xyz") == [True] * 3
        assert count(ledger, "c", "x") == [False]
        assert count(ledger, "dc", "zx", whole=True) == [False, False]
        assert count(ledger, "da", "yz", whole=True) == [False, True]
        assert count(ledger, "dd", "zx") == [False, False]  # y was not kept
    with place.open(variants=1) as ledger:  # a lower limit ends no answer that was given before
        assert count(ledger, "a", "x") == [False]
        assert count(ledger, "a", "w") == [True]


def test_nobody_reads_ids_or_records_in_it(in_file):
    with in_file.open() as ledger:
        ledger.pin(["Erika Mustermann"], SEAL, np.array([3], np.uint8))
        ledger.count(["Erika Mustermann"], [b"a record of hers"])
    for file in in_file.file.parent.iterdir():
        assert file.stat().st_mode & 0o077 == 0
        assert b"Erika" not in file.read_bytes()
        assert b"record" not in file.read_bytes()


def test_limits_are_kept_and_a_change_is_logged(place):
    place.open(bits=8).close()
    place.open(bits=8).close()
    with place.open(bits=12) as ledger:
        acts = [entry.as_dict() for entry in ledger.chain.entries()]
    assert [(act["act"], act["details"]["after"]["bits"]) for act in acts] == [("limits", 8), ("limits", 12)]
    with PartyLedger.open(place.address, place.secret, make=False) as ledger:
        assert ledger.limits == PartyLimits(bits=12)
        assert ledger.status().limits == ledger.limits


def test_every_call_is_one_row_of_the_log(place):
    with place.open(bits=4) as ledger:
        pin(ledger, "ab", [1, 2], call=Call("first"))
        pin(ledger, "bc", [1, 2])
        pin(ledger, "b", [1], OTHER_SEAL, whole=True, call=Call("third", 4))
        found = [entry.as_dict() for entry in ledger.chain.entries()][1:]
        assert ledger.chain.verify().ok
        assert (ledger.status().answered, ledger.status().refused) == (2, 1)
    assert [(one["act"], one["subject"]) for one in found] == [
        ("answer", "first"),
        ("answer", "-"),
        ("refusal", "third"),
    ]
    assert [one["details"] for one in found] == [
        {"entities": 2, "charged": 2, "refused": 0, "unknown": 0},
        {"entities": 2, "charged": 1, "refused": 0, "unknown": 0},
        {"entities": 5, "charged": 0, "refused": 1, "unknown": 4},
    ]
