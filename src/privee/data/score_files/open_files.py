"""Score files opened for reading and writing, each in its own format, a block at a time or whole in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privee.atomic import whole_file
from privee.data.files.formats import SCORES, delimiter_of, existing_format, format_of
from privee.data.files.size_limits import refuse_more
from privee.data.score_files.blocks import BYTES_PER_BLOCK, Block, Reader, Writer
from privee.data.score_files.csv_scores import CsvReader, TableWriter, csv_names
from privee.data.score_files.one_column import TwoClassReader
from privee.data.score_files.parquet_scores import ParquetReader, parquet_names
from privee.errors import PriveeError
from privee.scores import to_rows
from privee.scores.forms import Floats


def open_reader(path: Path, *, keep: Sequence[str] = (), scores: Sequence[str] = (), delimiter: str = "") -> Reader:
    """Open a score file for reading; one score column alone is read as two classes (see `one_column`)."""
    reader = _reader(path, keep, scores, delimiter)
    return TwoClassReader(reader) if reader.width == 1 else reader


def _reader(
    path: Path, keep: Sequence[str], scores: Sequence[str], delimiter: str
) -> NpyReader | ParquetReader | CsvReader:
    kind = existing_format(path, SCORES)
    if not path.stat().st_size:
        raise PriveeError("the file is empty")
    if kind == "npy":
        if keep or scores:
            raise PriveeError("a .npy file has no column names; --id and --scores need CSV or Parquet")
        return NpyReader(path)
    if kind == "parquet":
        return ParquetReader(path, keep, scores)
    return CsvReader(path, keep, scores, delimiter_of(path, delimiter))


def column_names(path: Path) -> list[str]:
    """The names in a table's header; none for .npy."""
    kind = existing_format(path, SCORES)
    if kind == "npy":
        return []
    return parquet_names(path) if kind == "parquet" else csv_names(path, delimiter_of(path))


def open_writer(
    partial: Path, final: Path, reader: Reader, *, delimiter: str = "", spreadsheet: bool = False
) -> Writer:
    """Open `partial` for writing what will be called `final`."""
    kind = format_of(final, SCORES)
    if kind == "npy":
        if reader.column_order is not None:
            raise PriveeError("tables are not written to .npy, which would lose their column names; use CSV or Parquet")
        return NpyWriter(partial, reader.size, reader.one_vector)
    csv_delimiter = delimiter_of(final, delimiter) if kind == "csv" else None
    return TableWriter(partial, reader.score_names, reader.column_order, csv_delimiter, spreadsheet=spreadsheet)


MAP_FROM_BYTES = 1 << 26


class NpyReader:
    """A .npy file; large ones are mapped, not loaded."""

    score_names: list[str] | None = None
    column_order: list[str] | None = None

    def __init__(self, path: Path) -> None:
        large = path.stat().st_size > MAP_FROM_BYTES
        try:
            _check_header(path)
            array = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
        except (ValueError, EOFError, OSError):
            raise PriveeError("this is not a readable .npy file of numbers") from None
        if not isinstance(array, np.ndarray) or array.ndim not in (1, 2):
            raise PriveeError("expected one vector (K,) or a batch (n, K) in the .npy file")
        self.one_vector = array.ndim == 1
        self._array = array[None] if self.one_vector else array
        self.size, self.done, self.width = len(self._array), 0, self._array.shape[1]

    def blocks(self) -> Iterator[Block]:
        rows = max(1, BYTES_PER_BLOCK // (8 * max(1, self._array.shape[1])))
        for start in range(0, len(self._array), rows):
            block, _ = to_rows(self._array[start : start + rows])
            self.done = start + len(block)
            yield Block(block)


def _check_header(path: Path) -> None:
    """NumPy takes memory for the shape that a header names before it looks how much there is."""
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        if dtype.kind not in "fiub" or math.prod(shape) * dtype.itemsize > path.stat().st_size - file.tell():
            raise ValueError


class NpyWriter:
    """Writes the header when the first block is known, then rows as they come."""

    formulas = 0

    def __init__(self, path: Path, rows: int, one_vector: bool) -> None:
        self._path, self._rows, self._one_vector = path, rows, one_vector
        self._file = path.open("wb")
        self._started = False

    def write(self, block: Block) -> None:
        scores = block.scores
        if block.kept is not None:
            raise PriveeError("a .npy file has no place for id columns; write CSV or Parquet")
        if not self._started:
            shape = (scores.shape[1],) if self._one_vector else (self._rows, scores.shape[1])
            descr = np.lib.format.dtype_to_descr(scores.dtype)
            header = {"descr": descr, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(self._file, header)
            self._started = True
        self._file.write(np.ascontiguousarray(scores).data)

    def close(self) -> None:
        self._file.close()


CLASS = "class_"
ROW = "row"
"""What `privee predict` calls its columns."""


class Loaded(NamedTuple):
    """The values, and the row numbers beside them if the file has any."""

    values: NDArray[np.float64]
    rows: NDArray[np.int64] | None


def load_scores(path: Path) -> Loaded:
    """Columns called class_* if there are any, otherwise all that do not look like ids."""
    names = column_names(path)
    keep = [name for name in names if not name.startswith(CLASS)] if any(n.startswith(CLASS) for n in names) else []
    blocks, held = [], 0
    for block in open_reader(path, keep=keep).blocks():
        held += block.scores.nbytes
        refuse_more(2 * held, path.name)
        blocks.append(block)
    if not blocks:
        raise PriveeError(f"there are no rows in {path}")
    values = np.concatenate([np.atleast_2d(block.scores) for block in blocks]).astype(np.float64)
    if not np.isfinite(values).all():
        raise PriveeError(f"{path} holds values that are not finite numbers")
    rows = None
    if ROW in keep:
        try:
            rows = np.concatenate([np.array(block.kept[ROW].to_pylist(), dtype=np.int64) for block in blocks])
        except (ValueError, TypeError, OverflowError):
            raise PriveeError(f"{path}: the column {ROW!r} holds something that is not a row number") from None
    return Loaded(values, rows)


def save_scores(
    path: Path,
    scores: Floats,
    *,
    names: Sequence[str],
    ids: tuple[str, Sequence[object]],
    force: bool = False,
    spreadsheet: bool = False,
) -> int:
    """Write scores as CSV, Parquet or .npy (by suffix; .npy has no place for names and ids).

    Returns how many ids and names a spreadsheet would take for formulas.

    Args:
        path: where to write.
        scores: (n, K).
        names: a column name for each class.
        ids: name and values of the id column.
        force: replace an existing file.
        spreadsheet: in CSV, put a quote before those.
    """
    kind = format_of(path, SCORES)
    id_name, id_values = ids
    if id_name in names:
        raise PriveeError(f"the id column {id_name!r} has the name of a class")
    with whole_file(path, force=force) as partial:
        if kind == "npy":
            with partial.open("wb") as file:
                np.save(file, scores, allow_pickle=False)
            return 0
        order, delimiter = [id_name, *names], "," if kind == "csv" else None
        writer = TableWriter(partial, list(names), order, delimiter, spreadsheet=spreadsheet)
        try:
            writer.write(Block(scores, pa.table({id_name: list(id_values)})))
        finally:
            writer.close()
    return writer.formulas
