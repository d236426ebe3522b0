"""A party's ledger that lost something, is a copy, or is gone: how to go on without, as an act in its log."""

from __future__ import annotations

import time
from pathlib import Path

import sqlalchemy as sa

from privee.durable import losses
from privee.durable.audit_chain import REASON, check_text
from privee.durable.opening import opened_engine
from privee.durable.whole_numbers import CAP
from privee.errors import PriveeError
from privee.party.ledger import opening
from privee.party.ledger.schema import spent
from privee.party.ledger.terms import Cost


def accept(address: str | Path, secret: Path, *, reason: str, actor: str, spend_all: bool) -> str:
    """From here on this ledger is the party's; tells what was wrong with it."""
    reason = check_text(reason, "the reason", REASON)
    with opened_engine(opening.url_of(address)) as engine:
        gone = not opening.is_there(engine)
    found = opening.open_checked(address, secret, make=False, anew=gone)
    engine, lost = found.marked.engine, "the party's ledger is gone" if gone else found.lost

    def spend(connection: sa.Connection) -> int:
        opening.move_in(connection, engine)
        full = dict.fromkeys(Cost._fields, CAP)
        return connection.execute(sa.update(spent).values(full)).rowcount if spend_all else 0

    try:
        if lost is None:
            raise PriveeError("nothing is known to be lost in this ledger, so there is nothing to accept")
        now = max(int(time.time()), found.latest)
        losses.accept(found.marked, found.keys.chain, reason=reason, actor=actor, now=now, spend=spend, known=True)
    finally:
        engine.dispose()
    return lost
