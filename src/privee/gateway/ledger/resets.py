"""Entities that start anew: administrative acts, each with its reason in the audit chain."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from privee.durable import audit_chain
from privee.durable.database import chunks
from privee.errors import PriveeError
from privee.gateway.budget.price import Price
from privee.gateway.ledger.api_keys import check_id
from privee.gateway.ledger.schema import key_entities, questions, spending
from privee.gateway.ledger.secrets import tag

_ZEROS = dict.fromkeys(Price._fields, 0)
_SHOWN = 20


def reset(connection: sa.Connection, chain_key: bytes, entity: bytes, *, reason: str, actor: str, now: int) -> None:
    """One entity, in the caller's transaction."""
    reason = audit_chain.check_text(reason, "the reason", audit_chain.REASON)
    rows = _locked(connection, [entity])
    if not rows:
        raise PriveeError("nothing was ever released for this entity, so there is nothing to reset")
    _clear(connection, [entity], now)
    details = {name: rows[0][name] for name in ("window_started", *Price._fields, "variants")}
    entry: Mapping[str, Any] = {"subject": tag(entity), "reason": reason, "details": details}
    audit_chain.append(connection, chain_key, at=now, actor=actor, act="ledger.reset", **entry)


def reset_many(
    connection: sa.Connection,
    chain_key: bytes,
    entities: Sequence[bytes],
    *,
    reason: str,
    actor: str,
    now: int,
    about: Mapping[str, Any] | None = None,
) -> int:
    """All of them or none, in the caller's transaction, with one entry; tells how many.

    Args:
        connection: in its transaction.
        chain_key: the audit chain's.
        entities: hashes, in the order of the request, which errors refer to.
        reason: for the log.
        actor: who.
        now: the ledger's time.
        about: how they were picked, for the log.
    """
    reason = audit_chain.check_text(reason, "the reason", audit_chain.REASON)
    chosen = sorted(set(entities))  # in order, as charges lock them: no deadlock
    if not chosen:
        raise PriveeError("there is no entity to reset")
    rows = {bytes(row["entity"]): row["releases"] for row in _locked(connection, chosen)}
    unknown = [place for place, entity in enumerate(entities, 1) if entity not in rows]
    if unknown:
        places = ", ".join(map(str, unknown[:_SHOWN])) + (", ..." if len(unknown) > _SHOWN else "")
        raise PriveeError(
            f"nothing was ever released for {len(unknown)} of the entities (numbers {places}): none is reset"
        )
    _clear(connection, chosen, now)
    digest = hashlib.sha256(b"".join(chosen)).hexdigest()
    details = {"entities": len(chosen), "releases": sum(rows.values()), "set": digest} | dict(about or {})
    entry: Mapping[str, Any] = {"subject": f"{len(chosen)} entities", "reason": reason, "details": details}
    audit_chain.append(connection, chain_key, at=now, actor=actor, act="ledger.reset-many", **entry)
    return len(chosen)


def charged_by(connection: sa.Connection, key_id: str, since: int) -> list[bytes]:
    """The entities that a key was charged for since a time, as far as that was written down."""
    held = key_entities.c.key_id == check_id(key_id)
    query = sa.select(key_entities.c.entity).where(held, key_entities.c.last_at >= since)
    found = [bytes(entity) for entity in connection.execute(query).scalars()]
    if not found:
        raise PriveeError(
            f"the ledger has no entities of key {key_id} since then: it writes them down only for keys with a quota of "
            "entities or a share, from when that was set"
        )
    return found


def _locked(connection: sa.Connection, entities: Sequence[bytes]) -> list[sa.RowMapping]:
    """Also their questions: a charge that found its own among them has ended, or looks again when they are gone."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
        connection.execute(sa.text("LOCK TABLE questions IN SHARE ROW EXCLUSIVE MODE"))
    query = sa.select(spending).order_by(spending.c.entity).with_for_update()
    return [
        row
        for chunk in chunks(entities)
        for row in connection.execute(query.where(spending.c.entity.in_(chunk))).mappings()
    ]


def _clear(connection: sa.Connection, entities: Sequence[bytes], now: int) -> None:
    """Keys start anew with them as well, and nothing is known any more of what was asked."""
    for chunk in chunks(entities):
        of_these = spending.c.entity.in_(chunk)
        connection.execute(sa.update(spending).where(of_these).values(**_ZEROS, window_started=now, variants=0))
        connection.execute(sa.delete(questions).where(questions.c.entity.in_(chunk)))
        connection.execute(sa.update(key_entities).where(key_entities.c.entity.in_(chunk)).values(_ZEROS))
