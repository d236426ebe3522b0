"""Many keys of 32 bytes in one parameter, and the statements that take them apart: one for each database.

A list of parameters is looked at by the driver one by one, and makes another statement for every length.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

WIDTH = 32


def packed(keys: Collection[bytes]) -> dict[str, Any]:
    """The parameters `keys`, `count` and `side`, of a square with room for so many; a key may be several, joined."""
    return {"keys": b"".join(keys), "count": len(keys), "side": math.isqrt(max(len(keys) - 1, 0)) + 1}


@dataclasses.dataclass(frozen=True)
class Packed:
    """How one database takes keys apart.

    Attributes:
        name: how it marks a parameter that has a name.
        before: begins a statement.
        places: the table `n` of places `i`, from 0 on.
        among: those rows of a table whose entity is among the keys, which all differ.
        groups: whether what an insert returns can be grouped.
    """

    name: Callable[[str], str]
    before: str
    places: str
    among: Callable[[str], str]
    groups: bool

    @staticmethod
    def of(mark: str) -> Packed:
        """For a driver that marks its parameters like this."""
        return _SQLITE if mark == "?" else _POSTGRESQL

    def part(self, place: int, of: int = 1) -> str:
        """The key at this place of each row, where a row has so many."""
        return f"substr({self.name('keys')}, {of * WIDTH} * i + {place * WIDTH + 1}, {WIDTH})"

    @property
    def flag(self) -> str:
        """1 where the byte in `flags` is `yes`, else 0."""
        return f"CASE WHEN substr({self.name('flags')}, i + 1, 1) = {self.name('yes')} THEN 1 ELSE 0 END"

    def insert(self, insert: str, values: Sequence[str]) -> str:
        """Insert a row for every key. SQLite needs the condition, to tell what follows from a join's."""
        return f"{self.before}{insert}SELECT {', '.join(values)} FROM {self.places} WHERE TRUE"  # noqa: S608

    def select(self, columns: Sequence[str], table: str) -> str:
        """Columns of those rows alone whose entity is among the keys."""
        return f"{self.before}SELECT {', '.join(columns)} FROM {self.among(table)}"  # noqa: S608

    def grouped(self, insert: str) -> str:
        """An insert whose answers are counted, where the database can do that: each once, and how often."""
        answers = insert.rpartition("RETURNING ")[2]
        return f"WITH done AS ({insert}) SELECT {answers}, COUNT(*) FROM done GROUP BY {answers}"  # noqa: S608


# Rows and columns of a square: to count from one row to the next takes SQLite longer than to find an entity.
_SQUARE = (
    "WITH RECURSIVE d(i) AS MATERIALIZED (SELECT 0 UNION ALL SELECT i + 1 FROM d WHERE i + 1 < :side), n(i) AS "
    "(SELECT a.i * :side + b.i FROM d AS a CROSS JOIN d AS b WHERE a.i * :side + b.i < :count) "
)
_SQLITE = Packed(
    name=lambda name: f":{name}",
    before=_SQUARE,
    places="n",
    among=lambda table: f"n CROSS JOIN {table} ON entity = substr(:keys, {WIDTH} * i + 1, {WIDTH})",
    groups=False,
)
_SERIES = "generate_series(0, %(count)s::int - 1) AS n(i)"
_KEYS = f"SELECT substr(%(keys)s::bytea, {WIDTH} * i + 1, {WIDTH}) FROM {_SERIES}"  # noqa: S608
_POSTGRESQL = Packed(
    name=lambda name: f"%({name})s::bytea" if name in {"keys", "flags", "yes"} else f"%({name})s::bigint",
    before="",
    places=_SERIES,
    # An array, not a table: the index on entities is then always the way.
    among=lambda table: f"{table} WHERE entity = ANY(ARRAY({_KEYS}))",
    groups=True,
)
