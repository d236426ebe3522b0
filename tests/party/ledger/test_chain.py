"""The party's log of calls and acts: whoever changes it without the secret is found out."""

import pytest
import sqlalchemy as sa

from privee.durable.database import connect
from privee.party.ledger.terms import Call
from tests._support.audit_chain import disarm
from tests._support.party_ledger_cases import OTHER_SEAL, pin

HARM = {
    "a count": "UPDATE audit_log SET details = replace(details, '\"charged\":1', '\"charged\":0') WHERE seq = 3",
    "a request": "UPDATE audit_log SET subject = 'another' WHERE seq = 3",
    "a row less": "DELETE FROM audit_log WHERE seq = 3",
    "a time": "UPDATE audit_log SET at = at + 1 WHERE seq = 3",
}


@pytest.fixture
def filled(place):
    """Its address, after some calls."""
    with place.open(bits=8) as ledger:
        for number, entity in enumerate("abc"):
            pin(ledger, entity, number, call=Call(f"call {number}"))
        pin(ledger, "a", [1], OTHER_SEAL)
        assert ledger.chain.verify().ok
    return place


def raw(place):
    return connect(place.address if "://" in place.address else f"sqlite:///{place.address}")


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_changed_row_shows(filled, harm):
    engine = raw(filled)
    with pytest.raises(sa.exc.DBAPIError, match="append only"), engine.begin() as connection:
        connection.exec_driver_sql(harm)
    disarm(engine)
    with engine.begin() as connection:
        assert connection.exec_driver_sql(harm).rowcount == 1
    engine.dispose()
    with filled.open(bits=8) as ledger:
        found = ledger.chain.verify()
    assert (found.ok, found.first_bad) == (False, 3)


def test_a_cut_end_shows_against_what_was_kept_elsewhere(filled):
    with filled.open(bits=8) as ledger:
        kept = ledger.chain.verify()
    engine = raw(filled)
    disarm(engine)
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM audit_log WHERE seq > 3"))
    engine.dispose()
    with filled.open(bits=8) as ledger:
        assert ledger.chain.verify().ok
        assert not ledger.chain.verify((kept.entries, kept.head)).ok
