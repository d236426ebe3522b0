"""What a party's ledger says of itself: totals, its limits, and its newest entry. No ids, no codes."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import sqlalchemy as sa

from privee.durable.audit_chain import entries
from privee.party.ledger.answering import ANSWER, REFUSAL, Act
from privee.party.ledger.schema import about, audit_log, codes, seals, spent
from privee.party.ledger.terms import Cost, PartyLimits

LIMITS = "limits"
_LIMITS = "limits"


@dataclasses.dataclass(frozen=True)
class Status:
    """Numbers of a whole ledger.

    Attributes:
        entities: that have spent anything.
        sealed: that have a code.
        codes: by seal, with how many codes the seal has, and how many entities have one of them.
        most: the most that any one entity has spent of each thing.
        limits: what an entity may spend.
        answered, refused: calls.
        last: the newest entry of the log.
    """

    entities: int
    sealed: int
    codes: dict[str, dict[str, int]]
    most: Cost
    limits: PartyLimits
    answered: int
    refused: int
    last: dict[str, Any] | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self) | {"most": self.most.as_dict()}


def status(connection: sa.Connection, limits: PartyLimits) -> Status:
    """All of it; reads whole tables."""
    held = sa.select(codes.c.seal, seals.c.codes, sa.func.count()).join_from(codes, seals, codes.c.seal == seals.c.seal)
    by_seal = {
        bytes(seal).hex(): {"codes": size, "entities": count}
        for seal, size, count in connection.execute(held.group_by(codes.c.seal, seals.c.codes))
    }
    sums = [sa.func.coalesce(sa.func.max(spent.c[name]), 0) for name in Cost._fields]
    count, *most = connection.execute(sa.select(sa.func.count(), *sums).select_from(spent)).one()
    calls = sa.select(audit_log.c.act, sa.func.count()).group_by(audit_log.c.act)
    acts: dict[str, int] = {row[0]: row[1] for row in connection.execute(calls)}
    newest = [entry.as_dict() for entry in entries(connection, last=1)]
    return Status(
        entities=count,
        sealed=connection.execute(sa.select(sa.func.count(codes.c.entity.distinct()))).scalar_one(),
        codes=by_seal,
        most=Cost(*most),
        limits=limits,
        answered=acts.get(ANSWER, 0),
        refused=acts.get(REFUSAL, 0),
        last=newest[0] if newest else None,
    )


def calls(connection: sa.Connection) -> list[dict[str, Any]]:
    """Every call in the log, oldest first."""
    columns = [audit_log.c[name] for name in ("subject", "at", "act", "details")]
    rows = connection.execute(
        sa.select(*columns).where(audit_log.c.act.in_((ANSWER, REFUSAL))).order_by(audit_log.c.seq)
    )
    return [row._asdict() | {"details": json.loads(row.details)} for row in rows]


def limits(connection: sa.Connection) -> PartyLimits:
    """Those it was last opened with."""
    return PartyLimits.of_text(connection.execute(sa.select(about.c.value).where(about.c.name == _LIMITS)).scalar())


def keep_limits(cursor: Any, mark: str, before: PartyLimits, after: PartyLimits) -> Act:
    """Store limits that differ from those before; who raises one leaves a trace."""
    change = "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    statement = f"INSERT INTO about (name, value) VALUES ({mark}, {mark}) {change}"  # noqa: S608 - constants
    cursor.execute(statement, [_LIMITS, after.text()])
    return Act(LIMITS, {"before": dataclasses.asdict(before), "after": dataclasses.asdict(after)}, actor="party")
