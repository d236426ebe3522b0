"""Counts that the gateway's ledger has lost: how that is accepted. How it shows is in `privee.durable.losses`."""

from __future__ import annotations

import sqlalchemy as sa

from privee.durable import losses
from privee.gateway.budget.price import CAP, Price
from privee.gateway.ledger.schema import spending
from privee.gateway.ledger.secrets import Subkeys


def accept(engine: sa.Engine, keys: Subkeys, *, reason: str, actor: str, now: int, spend_all: bool) -> None:
    """Go on with a database that has lost counts; from here on it is as far as its mark."""

    def spend(connection: sa.Connection) -> int:
        return _spend_all(connection, now) if spend_all else 0

    losses.accept(losses.Marked.beside(engine, keys.mark), keys.chain, reason=reason, actor=actor, now=now, spend=spend)


def _spend_all(connection: sa.Connection, now: int) -> int:
    """Every entity that is known counts as spent, until it is reset or its window ends; tells how many.

    No window ends what was asked: until it is reset, no other variant is answered.
    """
    full = dict.fromkeys(Price._fields, CAP) | {"window_started": now, "variants": CAP}
    return connection.execute(sa.update(spending).values(full)).rowcount
