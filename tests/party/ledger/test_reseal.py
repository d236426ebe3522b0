"""Codes that are forgotten by an act: logged, paid for again at the next question, refused where that is too much."""

import pytest

from privee.durable.whole_numbers import UNIT
from privee.errors import PriveeError
from tests._support.party_ledger_cases import OTHER_SEAL, codes_of, pin


def test_a_new_code_is_drawn_and_paid_for(place):
    with place.open(bits=8) as ledger:
        pin(ledger, "abc", [1, 2, 3])
        assert ledger.reseal(["a", "b"], reason="they moved house", actor="me") == 2
        assert ledger.spent("a").bits == 4 * UNIT  # nothing is given back
        assert pin(ledger, "abc", [5, 6, 7]).codes.tolist() == [5, 6, 3]
        assert [ledger.spent(entity).bits // UNIT for entity in "abc"] == [8, 8, 4]
        entry = next(one.as_dict() for one in ledger.chain.entries() if one.act == "reseal")
        assert ledger.chain.verify().ok
    assert (entry["actor"], entry["reason"], entry["subject"]) == ("me", "they moved house", "2 entities")
    assert (entry["details"]["entities"], entry["details"]["codes"]) == (2, 2)


def test_who_could_not_bear_another_keeps_its_code(place):
    with place.open(bits=8) as ledger:
        pin(ledger, "ab", [1, 2])
        pin(ledger, "a", [3], OTHER_SEAL)
        for entities in (["a"], ["b", "a"], None):
            with pytest.raises(PriveeError, match=r"1 of . entities have spent too much"):
                ledger.reseal(entities, reason="try", actor="me")
        assert codes_of(ledger, "ab") == [1, 2]
        assert ledger.reseal(["b"], reason="try", actor="me") == 1
    with place.open(bits=15) as ledger, pytest.raises(PriveeError, match="spent too much"):
        ledger.reseal(["a"], reason="both of its codes would be drawn again", actor="me")
    with place.open(bits=16) as ledger:
        assert ledger.reseal(["a"], reason="try", actor="me") == 2


def test_all_of_them(place):
    with place.open() as ledger:
        pin(ledger, "abc", [1, 2, 3])
        assert ledger.reseal(None, reason="another table", actor="me") == 3
        assert pin(ledger, "abc", [4, 5, 6]).codes.tolist() == [4, 5, 6]


def test_all_or_none_and_with_a_reason(place):
    with place.open() as ledger:
        with pytest.raises(PriveeError, match="all of the entities have no code"):
            ledger.reseal(None, reason="nobody", actor="me")
        pin(ledger, "a", [1])
        with pytest.raises(PriveeError, match="1 of the entities have no code"):
            ledger.reseal(["a", "z"], reason="z is unknown", actor="me")
        with pytest.raises(PriveeError, match="reason"):
            ledger.reseal(["a"], reason=" ", actor="me")
        assert codes_of(ledger, "a") == [1]
        assert {entry.act for entry in ledger.chain.entries()} <= {"answer"}
