"""What the dashboard and auditors read. It takes no lock that a charge would wait for."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import sqlalchemy as sa

from privee.gateway.budget.price import NOTHING, UNIT, Price
from privee.gateway.ledger.charge_sql import is_over
from privee.gateway.ledger.limits import Limits
from privee.gateway.ledger.schema import spending
from privee.gateway.ledger.secrets import TAG, tag
from privee.gateway.ledger.use import in_total


@dataclasses.dataclass(frozen=True)
class Spending:
    """What one entity has given away.

    Attributes:
        tag: the first 12 hex digits of the entity's hash.
        spent: counted against the limits: releases, and what else is limited.
        share: of what is allowed, 0 to 1.
        window_ends: when counting starts anew, in seconds since 1970; None is never.
        lifetime_releases, lifetime_epsilon: ever, over all windows and resets.
        variants: different questions about it, over all windows, since its last reset.
    """

    tag: str
    spent: dict[str, float]
    share: float
    window_ends: int | None
    lifetime_releases: int
    lifetime_epsilon: float
    variants: int = 0


class EntitySpending(NamedTuple):
    """An entity's hash, from which reading goes on, and what it has given away."""

    entity: bytes
    spending: Spending


@dataclasses.dataclass(frozen=True)
class Totals:
    """Over everything, by the names that programs know.

    Attributes:
        entities: that have given something away.
        releases: requests that were answered.
        refusals: requests that were refused.
        charged: releases that were charged; one about one entity each.
        released_entities: releases, charged or not: the entities of each request that was answered.
        refused_variants: of the requests that were refused, those for another variant.
    """

    entities: int
    releases: int
    refusals: int
    charged: int
    released_entities: int
    refused_variants: int = 0


def spending_of(connection: sa.Connection, limits: Limits, entity: bytes, now: int) -> Spending:
    """Of one entity; zeros if nothing was ever released."""
    row = connection.execute(sa.select(spending).where(spending.c.entity == entity)).mappings().one_or_none()
    return Spending(tag(entity), limits.show(NOTHING), 0.0, None, 0, 0.0) if row is None else _of_row(row, limits, now)


def nearest(connection: sa.Connection, limits: Limits, count: int, now: int) -> list[Spending]:
    """The entities that have used up most, the highest share first; of equal ones at the end of the list, any.

    Whoever is among the first by the highest of several shares is among the first by one of them: so each counter is
    asked on its own, which an index can answer.
    """
    found: dict[bytes, Spending] = {}
    for counter in dict.fromkeys(policy.counter for policy in limits.policies if policy.limit):
        rows = connection.execute(_most_used(counter, limits, count, now)).mappings()
        found |= {bytes(row["entity"]): _of_row(row, limits, now) for row in rows}
    return sorted(found.values(), key=lambda one: (-one.share, one.tag))[:count]


def _most_used(counter: str, limits: Limits, count: int, now: int) -> sa.Select[Any]:
    column = spending.c[counter]
    # No parameter: a plan that is made once for all values could not use an index with a condition of its own.
    some: sa.ColumnElement[int] = sa.literal_column("0")
    query = sa.select(spending).where(column > some).order_by(column.desc()).limit(count)
    return query if limits.window is None else query.where(spending.c.window_started > now - limits.window)


def in_order(connection: sa.Connection, limits: Limits, count: int, now: int, after: bytes) -> list[EntitySpending]:
    """The next entities after a hash, in the order of their hashes; b"" is before the first."""
    query = sa.select(spending).where(spending.c.entity > after).order_by(spending.c.entity).limit(count)
    rows = connection.execute(query).mappings()
    return [EntitySpending(bytes(row["entity"]), _of_row(row, limits, now)) for row in rows]


def tagged(connection: sa.Connection, limits: Limits, wanted: str, now: int) -> list[Spending]:
    """The entities with this tag: one, or none, or by a rare chance several."""
    query = sa.select(spending).where(*has_tag(spending.c.entity, wanted)).order_by(spending.c.entity)
    return [_of_row(row, limits, now) for row in connection.execute(query).mappings()]


def has_tag(column: sa.ColumnElement[bytes], wanted: str) -> list[sa.ColumnElement[bool]]:
    """Whether a hash begins with a tag, as a range that an index can find."""
    low, high = (bytes.fromhex(wanted) + end * (32 - TAG // 2) for end in (b"\x00", b"\xff"))
    return [column >= low, column <= high]


def totals(connection: sa.Connection) -> Totals:
    """Counts of the whole ledger."""
    use = in_total(connection)
    entities = connection.execute(sa.select(sa.func.count()).select_from(spending)).scalar_one()
    return Totals(entities, use.answered, use.refused, use.charged, use.releases, use.refused_variants)


def _of_row(row: Any, limits: Limits, now: int) -> Spending:
    over = is_over(limits, row["window_started"], now)
    sums = NOTHING if over else Price(*(row[name] for name in Price._fields))
    ends = None if limits.window is None or over else row["window_started"] + limits.window
    lifetime = row["lifetime_releases"], row["lifetime_epsilon"] / UNIT
    return Spending(tag(row["entity"]), limits.show(sums), limits.share(sums), ends, *lifetime, row["variants"])
