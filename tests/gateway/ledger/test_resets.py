"""Entities that start anew, many at once."""

import json

import pytest

from privee.durable import audit_chain
from privee.errors import PriveeError
from tests._support.ledger_cases import Time, allow, ask, by, new_key, releases


def test_many_entities_start_anew_together_or_none_does(url, open_ledger):
    ledger = open_ledger(url, allow(releases=1))
    many = [f"e{number}" for number in range(1200)]
    ledger.charge(ask(*many))
    with pytest.raises(PriveeError, match=r"nothing was ever released for 2 of the entities \(numbers 2, 4\)") as wrong:
        ledger.reset_many(["e0", "secret", "e1", "unknown"], reason="r", actor="me")
    assert "secret" not in str(wrong.value)
    for given, reason in (([], "r"), (["e0"], " ")):
        with pytest.raises(PriveeError):
            ledger.reset_many(given, reason=reason, actor="me")
    assert releases(ledger, "e0", "e1") == [1, 1]
    assert ledger.reset_many([*many, "e0"], reason="after the leak", actor="me") == 1200
    assert releases(ledger, "e0", "e1199") == [0, 0]
    assert ledger.spent("e0").lifetime_releases == 1
    assert ledger.charge(ask(*many)).charged == 1200
    with ledger.reading() as connection:
        (entry,) = audit_chain.entries(connection)
    details = json.loads(entry.details)
    assert (entry.act, entry.subject, entry.reason) == ("ledger.reset-many", "1200 entities", "after the leak")
    assert (details["entities"], details["releases"], len(details["set"])) == (1200, 1200, 64)


def test_what_a_key_was_charged_for_starts_anew(url, open_ledger):
    time = Time()
    ledger = open_ledger(url, allow(releases=2), time.clock())
    leaked, plain = new_key(ledger, share=1), new_key(ledger, releases="100/day")
    ledger.charge(by(leaked, "old"))
    time.elapsed += 1000
    ledger.charge(by(leaked, "a", "a", "b"))
    ledger.charge(by(plain, "c", "b"))
    assert ledger.reset_charged_by(leaked, since=int(1e9) + 500, reason="leaked", actor="me") == 2
    assert releases(ledger, "old", "a", "b", "c") == [1, 0, 0, 1]
    ledger.charge(by(leaked, "a", "a"))  # its share starts anew, too
    assert ledger.reset_charged_by(leaked, reason="leaked", actor="me") == 3
    with pytest.raises(PriveeError, match="only for keys with a quota of entities or a share"):
        ledger.reset_charged_by(plain, reason="leaked", actor="me")
    with pytest.raises(PriveeError, match="8 hexadecimal digits"):
        ledger.reset_charged_by("privee_secret", reason="leaked", actor="me")
