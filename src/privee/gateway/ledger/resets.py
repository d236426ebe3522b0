"""Entities that start anew: administrative acts, each with its reason in the audit chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from privee.errors import PriveeError
from privee.gateway.ledger import audit_chain
from privee.gateway.ledger.entities import tag
from privee.gateway.ledger.limits import Price
from privee.gateway.ledger.schema import spending

_ZEROS = dict.fromkeys(Price._fields, 0)


def reset(connection: sa.Connection, chain_key: bytes, entity: bytes, *, reason: str, actor: str, now: int) -> None:
    """One entity, in the caller's transaction."""
    reason = audit_chain.check_text(reason, "the reason", audit_chain.REASON)
    of_entity = spending.c.entity == entity
    row = connection.execute(sa.select(spending).where(of_entity).with_for_update()).mappings().one_or_none()
    if row is None:
        raise PriveeError("nothing was ever released for this entity, so there is nothing to reset")
    connection.execute(sa.update(spending).where(of_entity).values(**_ZEROS, window_started=now))
    details = {name: row[name] for name in ("window_started", *Price._fields)}
    entry: Mapping[str, Any] = {"subject": tag(entity), "reason": reason, "details": details}
    audit_chain.append(connection, chain_key, at=now, actor=actor, act="ledger.reset", **entry)
