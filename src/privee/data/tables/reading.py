"""One party's table: ids, feature columns and, for the active party, labels."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from privee.data.files.arrow import Content, no_column, read_table
from privee.data.files.size_limits import refuse_more
from privee.data.tables.cells import (
    Kind,
    are_dates,
    are_whole,
    from_text,
    from_typed,
    has_decimal_commas,
    ids_of,
    kind_of,
    labels_of,
)
from privee.errors import PriveeError

ID_BYTES = 100  # of a short text in Python


@dataclasses.dataclass(frozen=True)
class PartyTable:
    """A party's rows. Columns hold float64 (numbers) or string (categories), null where missing; no repr of values.

    Attributes:
        name: of the table.
        ids: of the records, as text.
        columns: features by name, as Arrow columns.
        labels: of the active party alone.
        found: how the file was written, in words: what parts its cells, how numbers and text are written.
        whole_ids: whether the ids are whole numbers in the file, so that they are written as such again.
        left_out: columns of the file that were left out, as asked.
        dates: columns of numbers that are dates in the file.
    """

    name: str
    ids: tuple[str, ...] = dataclasses.field(repr=False)
    columns: dict[str, Any] = dataclasses.field(repr=False)  # pyarrow.ChunkedArray
    labels: list[str] | None = dataclasses.field(default=None, repr=False)
    found: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    whole_ids: bool = dataclasses.field(default=False, repr=False)
    left_out: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    dates: tuple[str, ...] = dataclasses.field(default=(), repr=False)

    def __post_init__(self) -> None:
        held = [*self.columns.values(), *([] if self.labels is None else [self.labels])]
        if any(len(column) != len(self.ids) for column in held):
            raise PriveeError(f"the columns of {self.name} differ in length")
        for name, column in self.columns.items():
            if not isinstance(column, pa.ChunkedArray) or column.type not in (pa.float64(), pa.string()):
                raise PriveeError(f"column {name!r} of {self.name} must be a chunked Arrow array of float64 or string")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | Any) -> PartyTable:
        """The rows at these positions, in this order, as record alignment gives them."""
        positions = np.asarray(rows, dtype=np.int64)
        columns = {name: column.take(pa.array(positions)) for name, column in self.columns.items()}
        labels = None if self.labels is None else [self.labels[row] for row in positions]
        ids = tuple(self.ids[row] for row in positions)
        return dataclasses.replace(self, ids=ids, columns=columns, labels=labels)

    def without(self, names: Collection[str]) -> PartyTable:
        """The same rows without these columns."""
        left = {name: column for name, column in self.columns.items() if name not in names}
        return dataclasses.replace(self, columns=left)


def read_party_table(
    path: str | os.PathLike[str],
    *,
    id_column: str,
    label_column: str | None = None,
    label_optional: bool = False,
    kinds: Mapping[str, Kind] | None = None,
    drop: Collection[str] = (),
    delimiter: str = "",
) -> PartyTable:
    """Read a CSV or Parquet file of one party.

    Args:
        path: A .csv, .tsv, .parquet or .pq file, or CSV packed as .csv.gz. What parts the cells of CSV, its encoding
            (UTF-8, UTF-16, Windows-1252) and decimal commas are found. Empty cells, NA, NaN, ? and null are missing.
        id_column: Column that names the entities; read as text, so 007 stays 007.
        label_column: Column with the class of each row, read as text; None where the party has no labels.
        label_optional: Whether a file without the label column will do.
        kinds: `numeric` or `categorical` by column name, where the file does not tell: whole numbers that are codes,
            or new rows for a model that exists (give `Preprocessing.kinds`). Without it a CSV column is numeric if
            all its cells are numbers, or all are dates (2024-12-31, with or without a time, or 31.12.2024).
        drop: Columns to leave out, whether they are there or not.
        delimiter: What parts the cells of CSV; found if it is not given.
    """
    path = Path(path)
    content = read_table(path, delimiter=delimiter)
    table = content.table
    if label_optional and label_column not in table.column_names:
        label_column = None
    features = _feature_names(table.column_names, path.name, id_column, label_column, drop)
    if table.num_rows == 0:
        raise PriveeError(f"{path.name} has no rows")
    refuse_more(table.nbytes + table.num_rows * (ID_BYTES + 8 * len(features)), path.name)

    def where(name: str) -> str:
        return f"column {name!r} of {path.name}"

    ids = ids_of(table.column(id_column), where(id_column))
    labels = labels_of(table.column(label_column), where(label_column)) if label_column is not None else None
    columns, found = _columns(content, features, kinds or {}, where)
    whole = are_whole(table.column(id_column), typed=content.dialect is None)
    left_out = tuple(name for name in table.column_names if name in drop and name not in (id_column, label_column))
    numbers = [name for name, column in columns.items() if kind_of(column) == "numeric"]
    dates = tuple(name for name in numbers if are_dates(table.column(name)))
    return PartyTable(path.stem, tuple(ids.to_pylist()), columns, labels, found, whole, left_out, dates)


def _columns(
    content: Content, features: Sequence[str], kinds: Mapping[str, Kind], where: Callable[[str], str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The feature columns, and in words how the file was written. Decimal commas are a matter of the whole file."""
    table, dialect = content.table, content.dialect
    if dialect is None:
        return {name: from_typed(table.column(name), kinds.get(name), where(name)) for name in features}, (
            content.kind.capitalize(),
        )
    asked = [name for name in features if kinds.get(name) != "categorical"]
    comma = any(has_decimal_commas(table.column(name), dialect.delimiter) for name in asked)
    columns = {
        name: from_text(table.column(name), kinds.get(name), where(name), decimal_comma=comma) for name in features
    }
    first, *others = dialect.words
    return columns, (first, *(["decimal comma"] if comma else []), *others)


def _feature_names(
    names: list[str], source: str, id_column: str, label_column: str | None, drop: Collection[str]
) -> list[str]:
    if "" in names:
        raise PriveeError(f"column {names.index('') + 1} of {source} has no name; name it or remove it")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise PriveeError(f"{source} has two columns called {twice!r}; rename one")
    for wanted in (id_column, label_column):
        if wanted is not None and wanted not in names:
            raise no_column(source, wanted, names)
    if id_column == label_column:
        raise PriveeError(f"column {id_column!r} of {source} cannot be both the id and the label")
    left_out = {id_column, label_column, *drop}
    features = [name for name in names if name not in left_out and not _is_pandas_index(name)]
    if not features:
        raise PriveeError(f"{source} has no feature columns beside the id{' and the label' if label_column else ''}")
    return features


def _is_pandas_index(name: str) -> bool:
    """Row numbers that pandas adds to Parquet files; a feature they are not."""
    return re.fullmatch(r"__index_level_\d+__", name) is not None
