"""One party's table: ids, feature columns and, for the active party, labels.

The ids that all parties hold, as a party keeps them: what it answers for, and nothing else.

In a party's folder they are `aligned.parquet`: one column of text, called as the id column of its table. A random salt
in the file's metadata keeps its checksum, which others may see, from confirming a guess of the list.
"""

from __future__ import annotations

import bisect
import dataclasses
import os
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as arrow_parquet
from numpy.typing import NDArray

from privee.atomic import whole_file
from privee.data.files.arrow import listed, read_table
from privee.data.files.size_limits import refuse_more
from privee.data.tables.cells import Kind, from_text, from_typed, ids_of, labels_of
from privee.errors import PriveeError

ID_BYTES = 100  # of a short text in Python


@dataclasses.dataclass(frozen=True)
class PartyTable:
    """A party's rows. Columns hold float64 (numbers) or string (categories), null where missing; no repr of values."""

    name: str
    ids: tuple[str, ...] = dataclasses.field(repr=False)
    columns: dict[str, Any] = dataclasses.field(repr=False)  # pyarrow.ChunkedArray
    labels: list[str] | None = dataclasses.field(default=None, repr=False)

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
        return PartyTable(self.name, tuple(self.ids[row] for row in positions), columns, labels)


def read_party_table(
    path: str | os.PathLike[str],
    *,
    id_column: str,
    label_column: str | None = None,
    label_optional: bool = False,
    kinds: Mapping[str, Kind] | None = None,
) -> PartyTable:
    """Read a CSV or Parquet file of one party.

    Args:
        path: A .csv, .tsv, .parquet or .pq file. In CSV, empty cells, NA, NaN, ? and null are missing.
        id_column: Column that names the entities; read as text, so 007 stays 007.
        label_column: Column with the class of each row, read as text; None where the party has no labels.
        label_optional: Whether a file without the label column will do.
        kinds: `numeric` or `categorical` by column name, where the file does not tell: whole numbers that are codes,
            or new rows for a model that exists (give `Preprocessing.kinds`). Without it a CSV column is numeric if
            all its cells are numbers.
    """
    path = Path(path)
    kind, table = read_table(path)
    to_feature = from_text if kind == "csv" else from_typed
    if label_optional and label_column not in table.column_names:
        label_column = None
    features = _feature_names(table.column_names, path.name, id_column, label_column)
    if table.num_rows == 0:
        raise PriveeError(f"{path.name} has no rows")
    refuse_more(table.nbytes + table.num_rows * (ID_BYTES + 8 * len(features)), path.name)

    def where(name: str) -> str:
        return f"column {name!r} of {path.name}"

    ids = tuple(ids_of(table.column(id_column), where(id_column)).to_pylist())
    labels = labels_of(table.column(label_column), where(label_column)) if label_column is not None else None
    wanted = kinds or {}
    columns = {name: to_feature(table.column(name), wanted.get(name), where(name)) for name in features}
    return PartyTable(path.stem, ids, columns, labels)


def read_ids(path: Path, columns: Sequence[str]) -> Any:
    """The ids of a file as an Arrow column of text: of the first of these columns that it has. Others are not read."""
    _, table = read_table(path, columns)
    (name,) = table.column_names
    return ids_of(table.column(name), f"column {name!r} of {path.name}")


def _feature_names(names: list[str], source: str, id_column: str, label_column: str | None) -> list[str]:
    if "" in names:
        raise PriveeError(f"column {names.index('') + 1} of {source} has no name; name it or remove it")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise PriveeError(f"{source} has two columns called {twice!r}; rename one")
    for wanted in (id_column, label_column):
        if wanted is not None and wanted not in names:
            raise PriveeError(f"{source} has no column {wanted!r}; its columns are {listed(names)}")
    if id_column == label_column:
        raise PriveeError(f"column {id_column!r} of {source} cannot be both the id and the label")
    features = [name for name in names if name not in (id_column, label_column) and not _is_pandas_index(name)]
    if not features:
        raise PriveeError(f"{source} has no feature columns beside the id{' and the label' if label_column else ''}")
    return features


def _is_pandas_index(name: str) -> bool:
    """Row numbers that pandas adds to Parquet files; a feature they are not."""
    return re.fullmatch(r"__index_level_\d+__", name) is not None


ALIGNED = "aligned.parquet"


class AlignedIds:
    """A set of ids for millions of them: their bytes in one piece, sorted, and eight bytes beside each."""

    def __init__(self, ids: Any) -> None:
        """From an Arrow column of text."""
        whole = pc.cast(ids, pa.large_binary())
        whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        self._ids = whole.take(pc.sort_indices(whole))
        _, places, held = self._ids.buffers()
        self._places = np.frombuffer(places, np.int64, len(self._ids) + 1, offset=8 * self._ids.offset)
        self._bytes = memoryview(held if held is not None else b"")

    @classmethod
    def read(cls, path: Path, columns: Sequence[str]) -> AlignedIds:
        """From a CSV or Parquet file; the first of these columns that it has holds the ids."""
        return cls(read_ids(path, columns))

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, entity: str) -> bool:
        wanted = entity.encode()
        place = bisect.bisect_left(range(len(self)), wanted, key=self._at)
        return place < len(self) and self._at(place) == wanted

    def mask(self, entities: Sequence[str]) -> NDArray[np.bool_]:
        """Which of these are among them."""
        return np.fromiter((entity in self for entity in entities), bool, len(entities))

    def _at(self, place: int) -> bytes:
        return bytes(self._bytes[self._places[place] : self._places[place + 1]])


def write_aligned(path: Path, ids: Sequence[str], column: str) -> None:
    """Write the ids for their owner's eyes alone, whole or not at all, making the folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([(column, pa.large_string())], metadata={"salt": secrets.token_hex(16)})
    with whole_file(path, force=True) as partial:
        partial.chmod(0o600)  # before anything is in it
        arrow_parquet.write_table(pa.table([pa.array(ids, pa.large_string())], schema=schema), partial)
