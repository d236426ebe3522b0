"""Check and count in one atomic statement; SQLite and PostgreSQL understand the same text.

Whoever comes second, in another thread, process or machine, waits for the row and sees what the first one spent.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from privee.durable.database import chunks
from privee.gateway.budget.price import CAP, NOTHING, Price
from privee.gateway.ledger.limits import Limits

_SUMS = Price._fields
_LIFETIME = ("releases", "epsilon")
_COLUMNS = ("entity", *_SUMS, "window_started", *(f"lifetime_{name}" for name in _LIFETIME), "variants")

_CLAIMED = {"answered": "fingerprint", "questions": "question"}
_NONE: Mapping[bytes, int] = {}

Spent = dict[bytes, Price]
Pair = tuple[bytes, bytes]


class Counting:
    """The statements for some limits, made once for each number of rows.

    Args:
        limits: what every entity may give away.
        mark: how the driver marks a parameter.
    """

    def __init__(self, limits: Limits, mark: str) -> None:
        self.limits, self.mark = limits, mark
        update, marks = _update(limits), ", ".join([mark] * len(_COLUMNS))
        insert = f"INSERT INTO spending ({', '.join(_COLUMNS)}) VALUES "  # noqa: S608 - constants
        self._charge = functools.cache(lambda rows: f"{insert}{', '.join([f'({marks})'] * rows)} {update}")
        self.record_statement = f"INSERT INTO releases VALUES ({', '.join([mark] * 6)})"  # noqa: S608

    def charge(self, cursor: Any, costs: Mapping[bytes, Price], now: int, new: Mapping[bytes, int] = _NONE) -> Spent:
        """Add to what each entity has spent; those for whom it would be too much are missing in the answer.

        Args:
            cursor: in its transaction.
            costs: by entity.
            now: the ledger's time.
            new: variants that each entity was not asked about yet.
        """
        found: Spent = {}
        order = sorted(costs)  # no deadlock
        rows = [(entity, *costs[entity], now, *costs[entity][:2], new.get(entity, 0)) for entity in order]
        for chunk in chunks(rows):
            cursor.execute(self._charge(len(chunk)), [value for row in chunk for value in row])
            found.update((bytes(entity), Price(*sums)) for entity, *sums in cursor.fetchall())
        return found

    def claim(self, cursor: Any, table: str, pairs: Collection[Pair]) -> set[Pair]:
        """Remember pairs of an entity and what it was asked or answered; gives back those that were not there yet."""
        found: set[Pair] = set()
        name = _CLAIMED[table]
        for chunk in chunks(sorted(pairs)):
            values = ", ".join([f"({self.mark}, {self.mark})"] * len(chunk))
            insert = f"INSERT INTO {table} VALUES {values}"  # noqa: S608
            cursor.execute(
                f"{insert} ON CONFLICT DO NOTHING RETURNING entity, {name}", [value for pair in chunk for value in pair]
            )
            found.update((bytes(entity), bytes(claimed)) for entity, claimed in cursor.fetchall())
        return found

    def spent(self, cursor: Any, entities: Collection[bytes], now: int) -> Spent:
        """What each entity has spent, without those that have spent nothing."""
        return self.look(cursor, entities, now)[0]

    def look(self, cursor: Any, entities: Collection[bytes], now: int) -> tuple[Spent, dict[bytes, int]]:
        """The same, and how many variants each was asked about."""
        found: Spent = {}
        variants: dict[bytes, int] = {}
        for chunk in chunks(list(entities)):
            marks = ", ".join([self.mark] * len(chunk))
            columns = ", ".join((*_COLUMNS[:6], "variants"))
            cursor.execute(f"SELECT {columns} FROM spending WHERE entity IN ({marks})", chunk)  # noqa: S608
            for entity, *sums, started, asked in cursor.fetchall():
                found[bytes(entity)] = NOTHING if is_over(self.limits, started, now) else Price(*sums)
                variants[bytes(entity)] = asked
        return found, variants

    def windows(self, cursor: Any, entities: Collection[bytes]) -> dict[bytes, int]:
        """When the windows of entities that were charged started."""
        found: dict[bytes, int] = {}
        for chunk in chunks(list(entities)):
            marks = ", ".join([self.mark] * len(chunk))
            cursor.execute(f"SELECT entity, window_started FROM spending WHERE entity IN ({marks})", chunk)  # noqa: S608
            found.update((bytes(entity), started) for entity, started in cursor.fetchall())
        return found


def costs_of(price: Price, entities: Iterable[bytes]) -> Spent:
    """What each entity pays; one that is there twice pays twice."""
    counts = Counter(entities)
    each = {count: price.times(count) for count in set(counts.values())}
    return {entity: each[count] for entity, count in counts.items()}


def summed(parts: Iterable[tuple[Price, Iterable[bytes]]]) -> Spent:
    """The same over several asks."""
    costs: Spent = {}
    for price, entities in parts:
        for entity, cost in costs_of(price, entities).items():
            costs[entity] = costs[entity].plus(cost) if entity in costs else cost
    return costs


def is_over(limits: Limits, started: int, now: int) -> bool:
    """Whether an entity's window is over, so that counting starts anew."""
    return limits.window is not None and now - started >= limits.window


def _update(limits: Limits) -> str:
    over = "FALSE" if limits.window is None else f"excluded.window_started - spending.window_started >= {limits.window}"
    new = {name: f"CASE WHEN {over} THEN excluded.{name} ELSE {_sum(name)} END" for name in _SUMS}
    sets = [f"{name} = {value}" for name, value in new.items()]
    sets += [f"window_started = CASE WHEN {over} THEN excluded.window_started ELSE spending.window_started END"]
    sets += [f"lifetime_{name} = {_sum(f'lifetime_{name}')}" for name in _LIFETIME]
    sets += ["variants = spending.variants + excluded.variants"]  # whatever the window
    answer = ", ".join(_COLUMNS[:5])
    return f"ON CONFLICT (entity) DO UPDATE SET {', '.join(sets)} WHERE {_fits(limits, new)} RETURNING {answer}"


def _sum(name: str) -> str:
    """Stops at the cap; written so that nothing on the way is above it."""
    return f"CASE WHEN spending.{name} > {CAP} - excluded.{name} THEN {CAP} ELSE spending.{name} + excluded.{name} END"


def _fits(limits: Limits, new: Mapping[str, str]) -> str:
    """The comparisons of `limits.fits`, as the policies write them; what was asked before needs no variant."""
    conditions = [f"({policy.condition(new)})" for policy in limits.policies]
    if limits.variants is not None:
        total = "spending.variants + excluded.variants"
        conditions.append(f"(excluded.variants = 0 OR {total} <= {limits.variants})")
    return " AND ".join(conditions) or "TRUE"
