"""How quotas are written, given and changed."""

import json

import pytest
import sqlalchemy as sa

from privee.durable import audit_chain
from privee.errors import PriveeError
from privee.gateway.budget.price import UNIT
from privee.gateway.ledger.ledger import Limits
from privee.gateway.ledger.quotas import FOR_CONSUMERS, UNLIMITED, Per, Quotas
from tests._support.ledger_cases import allow, by, keys_of, new_key, refusal

# What is written


def test_quotas_are_written_as_rates_are():
    assert Quotas.parse("1000/day", "500/hour", 0.5) == Quotas(Per(1000, 86400), Per(500, 3600), UNIT // 2)
    assert str(Quotas.parse("1000 per 2 days", share="0.25")) == "1000/2 days releases, a share of 0.25"
    assert (str(UNLIMITED), str(FOR_CONSUMERS)) == ("none", "1000/day releases")
    for text in ("1000/day", "5/second", "7/2 hours", "3/month", "1/90 seconds"):
        assert str(Per.parse(text, "releases")) == text.replace("90 seconds", "90 seconds")
    changed = FOR_CONSUMERS.changed(share="0.1", entities="5/day").changed(entities="none")
    assert changed.as_dict() == {"releases": "1000/day", "entities": None, "share": 0.1}
    assert Quotas.parse(share=0.1).share == UNIT // 10  # as it was written, not as floating point has it


@pytest.mark.parametrize(
    "wrong",
    [
        {"releases": "many"},
        {"releases": "0/day"},
        {"releases": "5/day;1/hour"},
        {"entities": ""},
        {"entities": f"{10**30}/day"},
        {"share": 0},
        {"share": 1.1},
        {"share": -1},
        {"share": "half"},
        {"share": float("nan")},
        {"share": 1e-13},
        {"share": True},
    ],
)
def test_quotas_that_make_no_sense_are_refused(wrong):
    with pytest.raises(PriveeError, match="must be"):
        Quotas.parse(**wrong)


def test_a_share_is_rounded_down():
    limits = allow(releases=7, epsilon=10, delta=0.1, window=60)
    assert limits.part(UNIT // 2) == allow(releases=3, epsilon=5, delta=0.1, window=60)
    assert limits.part(UNIT) == limits
    assert Limits().part(UNIT // 2) == Limits()
    assert allow(releases=1).part(UNIT - 1) == allow(releases=0)


# Changing them


def test_quotas_change_with_a_reason_and_what_is_used_stays(url, open_ledger):
    ledger = open_ledger(url)
    keys, key_id = keys_of(ledger), new_key(ledger, releases="2/day")
    ledger.charge(by(key_id, "a", "b"))
    record = keys.set_quotas(key_id, "more to do", actor="boss", releases="3/day", share=0.5)
    assert record.quotas.as_dict() == {"releases": "3/day", "entities": None, "share": 0.5}
    assert record in keys.list()
    ledger.charge(by(key_id, "a"))
    refusal(ledger, by(key_id, "a"))
    keys.set_quotas(key_id, "trusted", actor="boss", releases="none", share="none")
    ledger.charge(by(key_id, *["a"] * 10))
    with ledger.reading() as connection:
        assert audit_chain.verify(connection, ledger.chain_key).ok
        entry = audit_chain.entries(connection)[-2]
    assert (entry.act, entry.subject, entry.reason, entry.actor) == ("key.quota", key_id, "more to do", "boss")
    assert json.loads(entry.details)["before"]["releases"] == "2/day"
    for wrong in ({"releases": "x"}, {}, {"releases": "none"}):
        with pytest.raises(PriveeError):
            keys.set_quotas(key_id, "why", actor="boss", **wrong)
    with pytest.raises(PriveeError, match="reason"):
        keys.set_quotas(key_id, " ", actor="boss", releases="1/day")
    with pytest.raises(PriveeError, match="is in use"):
        keys.set_quotas("0" * 8, "why", actor="boss", releases="1/day")
    keys.revoke(key_id, "gone", actor="boss")
    with pytest.raises(PriveeError, match="is in use"):
        keys.set_quotas(key_id, "why", actor="boss", releases="1/day")


def test_new_keys_have_a_quota_and_older_ones_none(url, open_ledger):
    ledger = open_ledger(url)
    keys = keys_of(ledger)
    made = keys.create("new", "consumer", ["*"], actor="me")
    assert made.record.quotas == FOR_CONSUMERS == keys.find(made.text).quotas
    assert keys.create("boss", "administrator", actor="me").record.quotas == UNLIMITED
    assert keys.create("free", "consumer", ["*"], actor="me", quotas=UNLIMITED).record.quotas == UNLIMITED
    with ledger.engine.begin() as connection:  # as a key from before has no row
        connection.execute(sa.text("DELETE FROM quotas"))
    assert keys.find(made.text).quotas == UNLIMITED
    assert ledger.charge(by(made.record.id, *(f"e{number}" for number in range(1500)))).charged == 1500
    keys.set_quotas(made.record.id, "as others", actor="me", releases="1000/day")
    assert keys.find(made.text).quotas == FOR_CONSUMERS
