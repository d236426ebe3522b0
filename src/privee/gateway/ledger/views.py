"""What the dashboard and auditors read. It takes no lock that a charge would wait for."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import sqlalchemy as sa

from privee.gateway.budget.price import NOTHING, UNIT, Price
from privee.gateway.ledger.charge_sql import is_over
from privee.gateway.ledger.limits import Limits
from privee.gateway.ledger.schema import releases, spending
from privee.gateway.ledger.secrets import tag

_RELEASED = releases.c.outcome == "released"


@dataclasses.dataclass(frozen=True)
class Spending:
    """What one entity has given away.

    Attributes:
        tag: the first 12 hex digits of the entity's hash.
        spent: counted against the limits: releases, and what else is limited.
        share: of what is allowed, 0 to 1.
        window_ends: when counting starts anew, in seconds since 1970; None is never.
        lifetime_releases, lifetime_epsilon: ever, over all windows and resets.
    """

    tag: str
    spent: dict[str, float]
    share: float
    window_ends: int | None
    lifetime_releases: int
    lifetime_epsilon: float


class Bucket(NamedTuple):
    """Requests from `start` (seconds since 1970) on."""

    start: int
    releases: int
    refusals: int


@dataclasses.dataclass(frozen=True)
class Totals:
    """Over everything: entities seen, requests released and refused, and entities charged."""

    entities: int
    releases: int
    refusals: int
    charged: int


def spending_of(connection: sa.Connection, limits: Limits, entity: bytes, now: int) -> Spending:
    """Of one entity; zeros if nothing was ever released."""
    row = connection.execute(sa.select(spending).where(spending.c.entity == entity)).mappings().one_or_none()
    return Spending(tag(entity), limits.show(NOTHING), 0.0, None, 0, 0.0) if row is None else _of_row(row, limits, now)


def nearest(connection: sa.Connection, limits: Limits, count: int, now: int) -> list[Spending]:
    """The entities that have used up most, the highest share first."""
    shares = [
        sa.cast(spending.c[policy.counter], sa.Double) / (policy.limit / policy.weight)
        for policy in limits.policies
        if policy.limit
    ]
    if not shares:
        return []
    share = functools.reduce(lambda first, other: sa.case((first > other, first), else_=other), shares)
    query = sa.select(spending).where(spending.c.releases > 0).order_by(share.desc(), spending.c.entity).limit(count)
    if limits.window is not None:
        query = query.where(spending.c.window_started > now - limits.window)
    found = (_of_row(row, limits, now) for row in connection.execute(query).mappings())
    return sorted(found, key=lambda one: -one.share)


def activity(connection: sa.Connection, since: float, bucket: int) -> list[Bucket]:
    """Requests by time, without the times when there were none."""
    start = releases.c.at - releases.c.at % bucket
    released = sa.func.sum(sa.case((_RELEASED, 1), else_=0))
    query = sa.select(start.label("start"), released, sa.func.count()).where(releases.c.at >= int(since))
    rows = connection.execute(query.group_by("start").order_by("start"))
    return [Bucket(int(begins), int(good), int(total - good)) for begins, good, total in rows]


def totals(connection: sa.Connection) -> Totals:
    """Counts of the whole ledger."""
    released = sa.func.coalesce(sa.func.sum(sa.case((_RELEASED, 1), else_=0)), 0)
    charged = sa.func.coalesce(sa.func.sum(releases.c.charged), 0)
    good, total, charges = connection.execute(sa.select(released, sa.func.count(), charged)).one()
    entities = connection.execute(sa.select(sa.func.count()).select_from(spending)).scalar_one()
    return Totals(entities, int(good), int(total - good), int(charges))


def _of_row(row: Any, limits: Limits, now: int) -> Spending:
    over = is_over(limits, row["window_started"], now)
    sums = NOTHING if over else Price(*(row[name] for name in Price._fields))
    ends = None if limits.window is None or over else row["window_started"] + limits.window
    lifetime = row["lifetime_releases"], row["lifetime_epsilon"] / UNIT
    return Spending(tag(row["entity"]), limits.show(sums), limits.share(sums), ends, *lifetime)
