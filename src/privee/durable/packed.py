"""Many keys of 32 bytes in one parameter, and the statements that take them apart: one for each database.

A list of parameters is looked at by the driver one by one, and makes another statement for every length.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

WIDTH = 32


def packed(keys: Collection[bytes]) -> dict[str, Any]:
    """The parameters `keys` and `count`."""
    return {"keys": b"".join(keys), "count": len(keys)}


@dataclasses.dataclass(frozen=True)
class Packed:
    """How one database takes keys apart.

    Attributes:
        name: how it marks a parameter that has a name.
        before: begins a statement.
        places: the table `n` of places `i`, from 0 on.
        member: a condition on `entity`, that it is among some keys.
        groups: whether what an insert returns can be grouped.
    """

    name: Callable[[str], str]
    before: str
    places: str
    member: str
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

    def among(self, select: str) -> str:
        """Those rows alone whose entity is among the keys."""
        return f"{self.before}{select} WHERE {self.member}"

    def grouped(self, insert: str) -> str:
        """An insert whose answers are counted, where the database can do that: each once, and how often."""
        if not self.groups:
            return insert
        answers = insert.rpartition("RETURNING ")[2]
        return f"WITH done AS ({insert}) SELECT {answers}, COUNT(*) FROM done GROUP BY {answers}"  # noqa: S608

    def counted(self, rows: Sequence[Sequence[Any]]) -> int:
        """How many rows an insert gave back, if these are its answers."""
        return sum(row[-1] for row in rows) if self.groups else len(rows)


_SQLITE = Packed(
    name=lambda name: f":{name}",
    before="WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count) ",
    places="n",
    member=f"entity IN (SELECT substr(:keys, {WIDTH} * i + 1, {WIDTH}) FROM n)",  # noqa: S608
    groups=False,
)
_SERIES = "generate_series(0, %(count)s::int - 1) AS n(i)"
_POSTGRESQL = Packed(
    name=lambda name: f"%({name})s::bytea" if name in {"keys", "flags", "yes"} else f"%({name})s::bigint",
    before="",
    places=_SERIES,
    # An array, not a table: the index on entities is then always the way.
    member=f"entity = ANY(ARRAY(SELECT substr(%(keys)s::bytea, {WIDTH} * i + 1, {WIDTH}) FROM {_SERIES}))",  # noqa: S608
    groups=True,
)
