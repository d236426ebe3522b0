"""How the parties' tables were read and matched: counts and kinds for people to look at before they train.

It holds names and counts, and no cell of any table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from privee.data.tables import PartyTable, Preprocessing
from privee.data.tables.cells import kind_of
from privee.vfl.matched_tables import Matched, is_free, is_id_like

ReadAs = Literal["number", "date", "yes/no", "category", "left out"]


@dataclasses.dataclass(frozen=True)
class ColumnReading:
    """How a column was read.

    Attributes:
        name: of the column.
        read_as: its kind, or that it is left out.
        values: how many different ones the matched records have.
        missing: how many of the matched records have none.
        features: how many the model gets from it.
        why: why it is left out.
    """

    name: str
    read_as: ReadAs
    values: int
    missing: int
    features: int = 0
    why: str = ""


@dataclasses.dataclass(frozen=True)
class PartyReading:
    """A party's table: its file, how that was written, and what it holds. Every row has an id of its own."""

    party: str
    file: str
    found: tuple[str, ...]
    rows: int
    matched: int
    columns: tuple[ColumnReading, ...]


@dataclasses.dataclass(frozen=True)
class TablesReport:
    """All parties, the active one first.

    Attributes:
        parties: their tables.
        matched: records that all of them hold.
        alignment: whether it was made now, or is that of an earlier command.
        classes: how many of the matched records have each label.
        unlabelled: how many have none, and are left out of training and testing.
        train, test: how many are for training and for testing.
    """

    parties: tuple[PartyReading, ...]
    matched: int
    alignment: Literal["made", "kept"]
    classes: Mapping[str, int]
    unlabelled: int
    train: int
    test: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        parties = [
            dataclasses.asdict(party) | {"distinct_ids": party.rows, "duplicate_ids": 0, "missing_ids": 0}
            for party in self.parties
        ]
        return dataclasses.asdict(self) | {"parties": parties}


def report_of(
    files: Mapping[str, Path],
    read: Mapping[str, PartyTable],
    found: Matched,
    fitted: Mapping[str, Preprocessing],
    labels: tuple[NDArray[np.int64], Sequence[str]],
    split: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> TablesReport:
    """From what `from_tables` has read, matched and fitted."""
    codes, classes = labels
    return TablesReport(
        parties=tuple(
            PartyReading(
                party=name,
                file=files[name].name,
                found=table.found,
                rows=len(table),
                matched=found.size,
                columns=_columns(found.tables[name], fitted[name]),
            )
            for name, table in read.items()
        ),
        matched=found.size,
        alignment="kept" if found.kept else "made",
        classes={name: int((codes == k).sum()) for k, name in enumerate(classes)},
        unlabelled=int((codes < 0).sum()),
        train=len(split[0]),
        test=len(split[1]),
    )


def _columns(table: PartyTable, fitted: Preprocessing) -> tuple[ColumnReading, ...]:
    features = {column.name: len(column.feature_names) for column in fitted.columns}
    found = [_column(table, name, features.get(name, 0)) for name in table.columns]
    return (*found, *(ColumnReading(name, "left out", 0, 0, why="as asked") for name in table.left_out))


def _column(table: PartyTable, name: str, features: int) -> ColumnReading:
    column = table.columns[name]
    values, missing = pc.count_distinct(column).as_py(), column.null_count
    if not features:
        return ColumnReading(name, "left out", values, missing, why=_why(table, name, values))
    numeric: ReadAs = "date" if name in table.dates else "number"
    kind: ReadAs = "yes/no" if values == 2 else numeric if kind_of(column) == "numeric" else "category"
    return ColumnReading(name, kind, values, missing, features)


def _why(table: PartyTable, name: str, values: int) -> str:
    if values == 0:
        return "all missing"
    if values == 1:
        return "constant"
    if is_id_like(table, name):
        return "every value is different, like an id"
    return f"{values:,} different texts, too many" if is_free(table, name) else "constant in the training records"
