"""Quotas inside the transaction that charges: counted and locked, judged. A key without any costs one look."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from privee.durable.database import chunks
from privee.gateway.budget.price import NOTHING, Price
from privee.gateway.ledger.charge_sql import Counting, Spent, is_over, summed
from privee.gateway.ledger.limits import Limits, fits
from privee.gateway.ledger.quotas import Per, Quotas, per_or_none

_HELD = ("entity", "key_id", *Price._fields, "window_started", "counted_since", "last_at")

_USED = ("used_releases", "releases_since", "used_entities", "entities_since")
_QUOTA = ("key_id", "releases", "releases_seconds", "entities", "entities_seconds", "share", *_USED)


class Overrun(NamedTuple):
    """A quota that does not cover what is asked.

    Attributes:
        quota: which: releases, entities or share.
        allowed: as it was written.
        asked, used, limit: plain numbers; of a share, those of the entity that gave most.
        retry_after: seconds until counting starts anew; None if waiting does not help.
        entities: a share's: those that would give too much.
    """

    quota: str
    allowed: str
    asked: Mapping[str, float]
    used: Mapping[str, float]
    limit: Mapping[str, float]
    retry_after: int | None = None
    entities: frozenset[bytes] = frozenset()


class Held(NamedTuple):
    """What an entity has given to a key."""

    sums: Price
    window_started: int
    counted_since: int


@dataclasses.dataclass
class Use:
    """What asks with one key are charged for: entities, at a price."""

    parts: list[tuple[Price, list[bytes]]]

    @property
    def charges(self) -> int:
        """One that is charged twice counts twice."""
        return sum(len(entities) for _, entities in self.parts)

    @functools.cached_property
    def costs(self) -> Spent:
        """By entity; not needed for a key whose quotas do not tell entities apart."""
        return summed(self.parts)


@dataclasses.dataclass
class Usage:
    """A key's quotas and what is used of them, as of now."""

    key_id: str
    quotas: Quotas
    releases: int
    releases_since: int
    entities: int
    entities_since: int
    held: dict[bytes, Held] = dataclasses.field(default_factory=dict)

    @property
    def by_entity(self) -> bool:
        """Whether it matters which entities are asked about."""
        return self.quotas.entities is not None or self.quotas.share is not None

    def fresh(self, use: Use) -> int:
        """Entities that were not asked about since counting started."""
        if not self.by_entity:
            return 0
        since = {entity: held.counted_since for entity, held in self.held.items()}
        return sum(since.get(entity) != self.entities_since for entity in use.costs)

    def sums(self, limits: Limits, entity: bytes, now: int) -> Price:
        """What an entity has given to the key in its window."""
        held = self.held.get(entity)
        return NOTHING if held is None or is_over(limits, held.window_started, now) else held.sums


def read(cursor: Any, counting: Counting, key_id: str, use: Use, now: int) -> Usage | None:
    """The quotas of a key, and what is used of them; None if it has none."""
    query = f"SELECT {', '.join(_QUOTA)} FROM quotas WHERE key_id = {counting.mark}"  # noqa: S608
    cursor.execute(query, (key_id,))
    return _usage(cursor, counting, use, now)


def count_releases(cursor: Any, counting: Counting, key_id: str, use: Use, now: int) -> Usage | None:
    """Add to a key's releases; others who charge with it wait for this one. Gives what was used before."""
    mark = counting.mark
    over = f"{mark} - releases_since >= releases_seconds"  # not so without a quota of releases
    sets = (
        f"used_releases = CASE WHEN {over} THEN 0 ELSE used_releases END + {mark}, "
        f"releases_since = CASE WHEN {over} THEN {mark} ELSE releases_since END"
    )
    update = f"UPDATE quotas SET {sets} WHERE key_id = {mark} RETURNING {', '.join(_QUOTA)}"  # noqa: S608
    cursor.execute(update, (now, use.charges, now, now, key_id))
    usage = _usage(cursor, counting, use, now)
    if usage is not None:
        usage.releases -= use.charges
    return usage


def judge(usage: Usage, limits: Limits, use: Use, now: int) -> Overrun | None:
    """Whether that is too much for a key."""
    quotas = usage.quotas
    numbers = (
        ("releases", quotas.releases, use.charges, usage.releases, usage.releases_since),
        ("entities", quotas.entities, usage.fresh(use), usage.entities, usage.entities_since),
    )
    for name, per, more, used, since in numbers:
        if per is not None and used + more > per.amount:
            wait = since + per.seconds - now if more <= per.amount else None
            limit = {name: per.amount, "window_seconds": per.seconds}
            return Overrun(name, str(per), {name: more}, {name: used}, limit, wait)
    return None if quotas.share is None else _judge_share(usage, limits, quotas.share, use.costs, now)


def count_entities(cursor: Any, counting: Counting, usage: Usage, use: Use, now: int) -> None:
    """Add to what a key has used of entities, if that matters; the caller has judged it, and holds the lock."""
    if not usage.by_entity:
        return
    mark = counting.mark
    update = f"UPDATE quotas SET used_entities = {mark}, entities_since = {mark} WHERE key_id = {mark}"  # noqa: S608
    cursor.execute(update, (usage.entities + usage.fresh(use), usage.entities_since, usage.key_id))
    _hold(cursor, counting, usage, use.costs, now)


def _usage(cursor: Any, counting: Counting, use: Use, now: int) -> Usage | None:
    """From the row that was asked for; windows that are over are renewed."""
    for key_id, amount, seconds, entities, entities_seconds, share, *used in cursor.fetchall():
        quotas = Quotas(per_or_none(amount, seconds), per_or_none(entities, entities_seconds), share)
        first = used_by_now(quotas.releases, used[0], used[1], now)
        second = used_by_now(quotas.entities, used[2], used[3], now)
        usage = Usage(key_id, quotas, *first, *second)
        if usage.by_entity:
            usage.held = _held(cursor, counting, key_id, list(use.costs))
        return usage
    return None


def used_by_now(per: Per | None, used: int, since: int, now: int) -> tuple[int, int]:
    """What is used of a quota and since when; nothing, if its time is over."""
    return (0, now) if per is not None and now - since >= per.seconds else (used, since)


def _judge_share(usage: Usage, limits: Limits, share: int, costs: Spent, now: int) -> Overrun | None:
    allowed = limits.part(share)
    before = {entity: usage.sums(limits, entity, now) for entity in costs}
    over = {entity for entity, cost in costs.items() if not fits(allowed, before[entity].plus(cost))}
    if not over:
        return None
    worst = max(over, key=lambda entity: (allowed.share(before[entity]), before[entity], entity))
    helps = limits.window is not None and before[worst] != NOTHING and fits(allowed, costs[worst])
    ends = usage.held[worst].window_started + (limits.window or 0) - now if helps else None
    sides = (allowed.show(costs[worst]), allowed.show(before[worst]), allowed.as_dict())
    return Overrun("share", f"{usage.quotas.as_dict()['share']:g}", *sides, ends, frozenset(over))


def _held(cursor: Any, counting: Counting, key_id: str, entities: list[bytes]) -> dict[bytes, Held]:
    found = {}
    for chunk in chunks(entities):
        marks = ", ".join([counting.mark] * len(chunk))
        columns = ", ".join(name for name in _HELD if name not in {"key_id", "last_at"})
        where = f"entity IN ({marks}) AND key_id = {counting.mark}"
        cursor.execute(f"SELECT {columns} FROM key_entities WHERE {where}", (*chunk, key_id))  # noqa: S608
        for entity, *sums, started, since in cursor.fetchall():
            found[bytes(entity)] = Held(Price(*sums), started, since)
    return found


def _hold(cursor: Any, counting: Counting, usage: Usage, costs: Spent, now: int) -> None:
    """Windows are the entities' own, which may have begun anew with this very charge."""
    marks = ", ".join([counting.mark] * len(_HELD))
    sets = ", ".join(f"{name} = excluded.{name}" for name in _HELD[2:])
    started = counting.windows(cursor, costs)
    for chunk in chunks(sorted(costs)):
        rows = ", ".join([f"({marks})"] * len(chunk))
        values: list[Any] = []
        for entity in chunk:
            sums = usage.sums(counting.limits, entity, now).plus(costs[entity])
            values += (entity, usage.key_id, *sums, started[entity], usage.entities_since, now)
        insert = f"INSERT INTO key_entities ({', '.join(_HELD)}) VALUES {rows}"  # noqa: S608
        cursor.execute(f"{insert} ON CONFLICT (entity, key_id) DO UPDATE SET {sets}", values)
