"""Claim, look, charge: statements for many entities each, which SQLite and PostgreSQL understand alike.

Whoever comes second, in another thread, process or machine, waits for the row and sees what the first one stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from privee.durable.database import chunks
from privee.durable.whole_numbers import CAP
from privee.party.ledger.terms import Cost, PartyLimits

_SUMS = Cost._fields
Pair = tuple[bytes, bytes]


class Statements:
    """The statements for some limits.

    Args:
        limits: what every entity may spend.
        mark: how the driver marks a parameter.
    """

    def __init__(self, limits: PartyLimits, mark: str) -> None:
        self.limits, self.mark = limits, mark
        self._charge = f"ON CONFLICT (entity) DO UPDATE SET {_added()} WHERE {_fits(limits)} RETURNING entity"

    def charge(self, cursor: Any, costs: Mapping[bytes, Cost]) -> set[bytes]:
        """Add to what each entity has spent; gives back those whose limits allow it, the others are as before."""
        # What nobody could bear is left out here: from a new entity the statement would take it.
        bearable = {cost for cost in set(costs.values()) if self.limits.allow(cost)}
        order = sorted(costs)  # no deadlock
        rows = [(entity, *costs[entity]) for entity in order if costs[entity] in bearable]
        found: set[bytes] = set()
        for chunk in chunks(rows):
            insert = f"INSERT INTO spent (entity, {', '.join(_SUMS)}) VALUES {self._rows(chunk)}"  # noqa: S608 - constants
            cursor.execute(f"{insert} {self._charge}", _flat(chunk))
            found.update(bytes(entity) for (entity,) in cursor.fetchall())
        return found

    def claim_codes(self, cursor: Any, seal: bytes, candidates: Mapping[bytes, int]) -> set[bytes]:
        """Store codes for entities that have none with this seal; gives back those."""
        found: set[bytes] = set()
        for chunk in chunks([(entity, seal, candidates[entity]) for entity in sorted(candidates)]):
            insert = f"INSERT INTO codes (entity, seal, code) VALUES {self._rows(chunk)}"  # noqa: S608
            cursor.execute(f"{insert} ON CONFLICT DO NOTHING RETURNING entity", _flat(chunk))
            found.update(bytes(entity) for (entity,) in cursor.fetchall())
        return found

    def look_up_codes(self, cursor: Any, seal: bytes, entities: Collection[bytes]) -> dict[bytes, int]:
        """The codes that are stored."""
        found: dict[bytes, int] = {}
        for chunk in chunks(list(entities)):
            cursor.execute(
                f"SELECT entity, code FROM codes WHERE {self._among(chunk)} AND seal = {self.mark}",  # noqa: S608
                [*chunk, seal],
            )
            found.update((bytes(entity), code) for entity, code in cursor.fetchall())
        return found

    def forget_codes(self, cursor: Any, seal: bytes, entities: Collection[bytes]) -> None:
        """Of these entities with this seal."""
        for chunk in chunks(sorted(entities)):
            cursor.execute(f"DELETE FROM codes WHERE {self._among(chunk)} AND seal = {self.mark}", [*chunk, seal])  # noqa: S608

    def claim_variants(self, cursor: Any, pairs: Collection[Pair]) -> set[Pair]:
        """Remember entities with their digests; gives back those that were not there yet."""
        found: set[Pair] = set()
        for chunk in chunks(sorted(pairs)):
            insert = f"INSERT INTO variants (entity, digest) VALUES {self._rows(chunk)}"  # noqa: S608
            cursor.execute(f"{insert} ON CONFLICT DO NOTHING RETURNING entity, digest", _flat(chunk))
            found.update((bytes(entity), bytes(digest)) for entity, digest in cursor.fetchall())
        return found

    def forget_variants(self, cursor: Any, pairs: Collection[Pair]) -> None:
        """Of this call, which answers nothing about these entities."""
        statement = f"DELETE FROM variants WHERE entity = {self.mark} AND digest = {self.mark}"  # noqa: S608
        cursor.executemany(statement, sorted(pairs))

    def spent(self, cursor: Any, entities: Collection[bytes]) -> dict[bytes, Cost]:
        """What each entity has spent, without those that have spent nothing."""
        found: dict[bytes, Cost] = {}
        for chunk in chunks(list(entities)):
            cursor.execute(f"SELECT entity, {', '.join(_SUMS)} FROM spent WHERE {self._among(chunk)}", list(chunk))  # noqa: S608
            found.update((bytes(entity), Cost(*sums)) for entity, *sums in cursor.fetchall())
        return found

    def _rows(self, rows: Sequence[Sequence[Any]]) -> str:
        row = f"({', '.join([self.mark] * len(rows[0]))})"
        return ", ".join([row] * len(rows))

    def _among(self, entities: Sequence[bytes]) -> str:
        return f"entity IN ({', '.join([self.mark] * len(entities))})"


def _flat(rows: Sequence[Sequence[Any]]) -> list[Any]:
    return [value for row in rows for value in row]


def _sum(name: str) -> str:
    """Stops at the cap; written so that nothing on the way is above it."""
    return f"CASE WHEN spent.{name} > {CAP} - excluded.{name} THEN {CAP} ELSE spent.{name} + excluded.{name} END"


def _added() -> str:
    return ", ".join(f"{name} = {_sum(name)}" for name in _SUMS)


def _fits(limits: PartyLimits) -> str:
    """What costs nothing is never too much, also for an entity that a lower limit has left behind."""
    conditions = [f"(excluded.{name} = 0 OR {_sum(name)} <= {most})" for name, most in limits.most().items()]
    return " AND ".join(conditions) or "TRUE"
