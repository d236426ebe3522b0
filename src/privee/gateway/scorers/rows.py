"""The rows that a scorer is given, and where an entity's is found: a file read once, or a database (sql_rows.py)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privee.data.files.arrow import no_column
from privee.data.tables import read_party_table
from privee.data.tables.cells import kind_of
from privee.errors import PriveeError, SettingError
from privee.given import existing_file


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Some rows: (n, columns), float64 where all are numbers, else objects: numbers and texts; missing is NaN or None.

    Attributes:
        names: of the columns.
        values: no repr.
    """

    names: tuple[str, ...]
    values: NDArray[Any] = dataclasses.field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """All as numbers."""
        if self.values.dtype == object:
            raise PriveeError("the rows hold text, and this model takes numbers alone")
        return self.values

    def table(self) -> pa.Table:
        """As an Arrow table: float64 and string columns, null where missing."""
        if self.values.dtype != object:
            columns = [pa.array(column, from_pandas=True) for column in self.values.T]
        else:
            kinds = [pa.string() if _has_text(column) else pa.float64() for column in self.values.T]
            cells = zip(self.values.T.tolist(), kinds, strict=True)
            columns = [pa.array(column, kind, from_pandas=True) for column, kind in cells]
        return pa.table(dict(zip(self.names, columns, strict=True)))

    @cached_property
    def digests(self) -> NDArray[np.uint8]:
        """(n, 32): what tells one row from another, with the columns' names; -0 counts as 0."""
        start = hashlib.sha256(json.dumps(self.names).encode())
        if self.values.dtype != object:
            parts = [row.tobytes() for row in self.values + 0.0]
        else:
            parts = [json.dumps(row).encode() for row in self.values.tolist()]
        found = bytearray()
        for part in parts:
            one = start.copy()
            one.update(part)
            found += one.digest()
        return np.frombuffer(bytes(found), dtype=np.uint8).reshape(len(parts), 32)


def _has_text(column: NDArray[Any]) -> bool:
    return any(isinstance(cell, str) or cell is None for cell in column)


def _has_gap(row: NDArray[Any]) -> bool:
    return any(cell is None or cell != cell for cell in row.tolist())  # noqa: PLR0124 (a NaN is not itself)


class FoundRows(NamedTuple):
    """Rows of those entities that are known, in their order, and the places of the others."""

    rows: Rows
    unknown: tuple[int, ...]


class RowTable(Protocol):
    """Finds rows; may be asked from several threads."""

    names: tuple[str, ...]
    in_memory: bool

    def find(self, entities: Sequence[str]) -> FoundRows:
        """Their rows; StoreError if it cannot be read now."""

    def sample(self) -> Rows:
        """Any one row, or none at all."""

    def close(self) -> None:
        """Let go of it."""


class FileRows:
    """A file, read once."""

    in_memory = True

    def __init__(self, file: Path, id_column: str, wanted: Sequence[str]) -> None:
        found = read_party_table(existing_file(file, "--rows"), id_column=id_column)
        if (twice := len(found.ids) - len(set(found.ids))) > 0:
            raise PriveeError(f"{file.name} has {twice} rows too many: there is one row for each entity")
        self.names = chosen(found.columns, wanted, file.name)
        self._places: Mapping[str, int] = {entity: place for place, entity in enumerate(found.ids)}
        self._values = _values({name: found.columns[name] for name in self.names})

    def find(self, entities: Sequence[str]) -> FoundRows:
        """Their rows."""
        places = np.fromiter((self._places.get(entity, -1) for entity in entities), np.int64, len(entities))
        unknown = tuple(np.flatnonzero(places < 0).tolist())
        return FoundRows(Rows(self.names, self._values[places[places >= 0]]), unknown)

    def sample(self) -> Rows:
        """The first without a gap, as not every model takes one; the first, if all have gaps."""
        whole = next((place for place, row in enumerate(self._values) if not _has_gap(row)), 0)
        return Rows(self.names, self._values[whole : whole + 1])

    def close(self) -> None:
        """Nothing to let go of."""

    def __len__(self) -> int:
        return len(self._places)


def open_rows(given: str, id_column: str, table: str | None, wanted: Sequence[str]) -> RowTable:
    """The table that these settings name, with the columns that are wanted, or all."""
    if "://" not in given:
        if table is not None:
            raise SettingError("--table is for a database; --rows names a file")
        return FileRows(Path(given), id_column, wanted)
    if table is None:
        raise SettingError("which table of the database? Give --table NAME")
    from privee.gateway.scorers.sql_rows import SqlRows

    return SqlRows(given, table, id_column, wanted)


def chosen(held: Sequence[str] | Mapping[str, Any], wanted: Sequence[str], where: str) -> tuple[str, ...]:
    """The wanted columns in that order, which must be there; all, if none is named."""
    for name in wanted:
        if name not in held:
            raise no_column(where, name, list(held))
    return tuple(wanted or held)


def _values(columns: Mapping[str, Any]) -> NDArray[Any]:
    if all(kind_of(column) == "numeric" for column in columns.values()):
        return np.column_stack([column.to_numpy() for column in columns.values()]).astype(np.float64)
    values = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for place, column in enumerate(columns.values()):
        numeric = kind_of(column) == "numeric"
        values[:, place] = column.to_numpy().astype(object) if numeric else column.to_pylist()
    return values
