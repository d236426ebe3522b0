"""Check and count in one atomic statement; SQLite and PostgreSQL understand nearly the same text.

Whoever comes second, in another thread, process or machine, waits for the row and sees what the first one spent.

Entities travel in one parameter, side by side: a statement is then the same for any number of them, and neither driver
has thousands of parameters to look at. See `packed`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from privee.durable.database import chunks
from privee.durable.packed import Packed, packed
from privee.gateway.budget.price import CAP, NOTHING, Price
from privee.gateway.ledger.limits import Limits

_SUMS = Price._fields
_LIFETIME = ("releases", "epsilon")
_COLUMNS = ("entity", *_SUMS, "window_started", *(f"lifetime_{name}" for name in _LIFETIME), "variants")

_ALIKE = (*_SUMS, "started", *_LIFETIME)
"""Of entities that all pay the same: what goes into `_COLUMNS` after the entity, before its variants."""

_CLAIMED = {"answered": "fingerprint", "questions": "question"}
_NONE: Mapping[bytes, int] = {}

Spent = dict[bytes, Price]


class Counting:
    """The statements for some limits.

    Args:
        limits: what every entity may give away.
        mark: how the driver marks a parameter.
    """

    def __init__(self, limits: Limits, mark: str) -> None:
        self.limits, self.mark = limits, mark
        self._packed = packed = Packed.of(mark)
        update, marks = _update(limits), ", ".join([mark] * len(_COLUMNS))
        insert = f"INSERT INTO spending ({', '.join(_COLUMNS)}) "
        self._charge = functools.cache(lambda rows: f"{insert}VALUES {', '.join([f'({marks})'] * rows)} {update}")
        alike = packed.insert(insert, (packed.part(0), *map(packed.name, _ALIKE), packed.flag))
        self._charge_alike, self._sums_alike = f"{alike} {update}", _sums_alike(packed, alike, limits)
        self._look = packed.select((*_COLUMNS[:6], "variants"), "spending")
        grouped = (*_SUMS, "window_started")
        self._look_alike = packed.select((*grouped, "MAX(variants)", "COUNT(*)"), "spending")
        self._look_alike += f" GROUP BY {', '.join(grouped)}"
        self._highest = packed.select([f"MAX({name})" for name in _SUMS], "spending")
        self._windows = packed.select(("entity", "window_started"), "spending")
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
        if (price := _one_price(costs, new)) is not None:
            cursor.execute(self._charge_alike, _given(order, price, now, new))
            return {bytes(entity): Price(*sums) for entity, *sums in cursor.fetchall()}
        rows = [(entity, *costs[entity], now, *costs[entity][:2], new.get(entity, 0)) for entity in order]
        for chunk in chunks(rows):
            cursor.execute(self._charge(len(chunk)), [value for row in chunk for value in row])
            found.update((bytes(entity), Price(*sums)) for entity, *sums in cursor.fetchall())
        return found

    def charge_alike(
        self, cursor: Any, costs: Mapping[bytes, Price], now: int, new: Mapping[bytes, int]
    ) -> set[Price] | None:
        """The same where all pay the same: what they have spent by now, few sums instead of many rows, or the highest.

        None if they do not, or if it would be too much for any of them; then nothing is charged.
        """
        price = _one_price(costs, new)
        if price is None:
            return None
        cursor.execute("SAVEPOINT alike")
        given = _given(sorted(costs), price, now, new)  # sorted: no deadlock
        for statement in self._sums_alike:
            cursor.execute(statement, given)
        rows = cursor.fetchall()
        if sum(count for *_, count in rows) < len(costs):
            cursor.execute("ROLLBACK TO SAVEPOINT alike")
            return None
        cursor.execute("RELEASE SAVEPOINT alike")
        return {Price(*sums) for *sums, _ in rows}

    def claim(self, cursor: Any, table: str, pairs: Collection[bytes]) -> set[bytes]:
        """Remember pairs, joined, of an entity and what it was asked or answered; gives back those that are new."""
        if not pairs:
            return set()
        insert = self._packed.insert(f"INSERT INTO {table} ", (self._packed.part(0, 2), self._packed.part(1, 2)))
        whole = f"{insert} ON CONFLICT DO NOTHING RETURNING entity, {_CLAIMED[table]}"
        cursor.execute(whole, packed(sorted(pairs)))
        return {bytes(entity) + bytes(claimed) for entity, claimed in cursor.fetchall()}

    def spent(self, cursor: Any, entities: Collection[bytes], now: int) -> Spent:
        """What each entity has spent, without those that have spent nothing."""
        return self.look(cursor, entities, now)[0]

    def look(self, cursor: Any, entities: Collection[bytes], now: int) -> tuple[Spent, dict[bytes, int]]:
        """The same, and how many variants each was asked about."""
        found: Spent = {}
        variants: dict[bytes, int] = {}
        if entities:
            cursor.execute(self._look, packed(entities))
            for entity, *sums, started, asked in cursor.fetchall():
                found[bytes(entity)] = NOTHING if is_over(self.limits, started, now) else Price(*sums)
                variants[bytes(entity)] = asked
        return found, variants

    def look_alike(self, cursor: Any, entities: Collection[bytes], now: int) -> tuple[set[Price], int]:
        """The sums that there are among what these have spent, each once, and the most variants of any of them."""
        if not entities:
            return set(), 0
        cursor.execute(self._look_alike, packed(entities))
        sums: set[Price] = set()
        most = known = 0
        for *spent, started, variants, count in cursor.fetchall():
            sums.add(NOTHING if is_over(self.limits, started, now) else Price(*spent))
            most, known = max(most, variants), known + count
        return sums | ({NOTHING} if known < len(entities) else set()), most

    def highest(self, cursor: Any, entities: Collection[bytes]) -> Price:
        """The highest of each sum among what these have spent, whether its window is over or not."""
        if not entities:
            return NOTHING
        cursor.execute(self._highest, packed(entities))
        return Price(*(most or 0 for most in cursor.fetchone()))

    def windows(self, cursor: Any, entities: Collection[bytes]) -> dict[bytes, int]:
        """When the windows of entities that were charged started."""
        if not entities:
            return {}
        cursor.execute(self._windows, packed(entities))
        return {bytes(entity): started for entity, started in cursor.fetchall()}


def costs_of(price: Price, entities: Collection[bytes]) -> Spent:
    """What each entity pays; one that is there twice pays twice."""
    once = dict.fromkeys(entities, price.times(1))
    if len(once) == len(entities):
        return once
    counts = Counter(entities)
    each = {count: price.times(count) for count in set(counts.values())}
    return {entity: each[count] for entity, count in counts.items()}


def summed(parts: Sequence[tuple[Price, Collection[bytes]]]) -> Spent:
    """The same over several asks."""
    if len(parts) == 1:
        return costs_of(*parts[0])
    costs: Spent = {}
    for price, entities in parts:
        for entity, cost in costs_of(price, entities).items():
            costs[entity] = costs[entity].plus(cost) if entity in costs else cost
    return costs


def is_over(limits: Limits, started: int, now: int) -> bool:
    """Whether an entity's window is over, so that counting starts anew."""
    return limits.window is not None and now - started >= limits.window


def _one_price(costs: Mapping[bytes, Price], new: Mapping[bytes, int]) -> Price | None:
    """What all of them pay, if it is the same and nobody is asked in two new variants at once."""
    prices = set(costs.values())
    return next(iter(prices)) if len(prices) == 1 and max(new.values(), default=0) <= 1 else None


def _given(order: Sequence[bytes], price: Price, now: int, new: Mapping[bytes, int]) -> dict[str, Any]:
    flags = bytes(map(new.keys().__contains__, order)) if new else bytes(len(order))
    return packed(order) | price._asdict() | {"started": now, "flags": flags, "yes": b"\x01"}


def _sums_alike(packed: Packed, alike: str, limits: Limits) -> tuple[str, ...]:
    """Charge all alike; rows of sums there are, and of how many entities. SQLite's is one row, of the highest.

    There it takes longer to give back every row than to look for the highest once more.
    """
    if packed.groups:
        return (packed.grouped(f"{alike} {_update(limits, _SUMS)}"),)
    highest = (*(f"MAX({name})" for name in _SUMS), "changes()")
    return f"{alike} {_update(limits, ())}", packed.select(highest, "spending")


def _update(limits: Limits, answer: Sequence[str] = ("entity", *_SUMS)) -> str:
    over = "FALSE" if limits.window is None else f"excluded.window_started - spending.window_started >= {limits.window}"
    new = {name: f"CASE WHEN {over} THEN excluded.{name} ELSE {_sum(name)} END" for name in _SUMS}
    sets = [f"{name} = {value}" for name, value in new.items()]
    sets += [f"window_started = CASE WHEN {over} THEN excluded.window_started ELSE spending.window_started END"]
    sets += [f"lifetime_{name} = {_sum(f'lifetime_{name}')}" for name in _LIFETIME]
    sets += ["variants = spending.variants + excluded.variants"]  # whatever the window
    shown = f" RETURNING {', '.join(answer)}" if answer else ""
    return f"ON CONFLICT (entity) DO UPDATE SET {', '.join(sets)} WHERE {_fits(limits, new)}{shown}"


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
