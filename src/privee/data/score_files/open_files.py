"""Score files opened for reading and writing, each in its own format; NumPy's own (one array, no names) here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from privee.data.files.formats import TABLES, delimiter_of, existing_format, format_of
from privee.data.score_files.blocks import BYTES_PER_BLOCK, Block, Reader, Writer
from privee.data.score_files.csv_scores import CsvReader, TableWriter, csv_names
from privee.data.score_files.parquet_scores import ParquetReader, parquet_names
from privee.errors import PriveeError
from privee.scores import to_rows

FORMATS = (*TABLES, "npy")


def open_reader(path: Path, *, keep: Sequence[str] = (), scores: Sequence[str] = (), delimiter: str = "") -> Reader:
    """Open a score file for reading."""
    kind = existing_format(path, FORMATS)
    if kind == "npy":
        if keep or scores:
            raise PriveeError("a .npy file has no column names; --id and --scores need CSV or Parquet")
        return NpyReader(path)
    if kind == "parquet":
        return ParquetReader(path, keep, scores)
    return CsvReader(path, keep, scores, delimiter_of(path, delimiter))


def column_names(path: Path) -> list[str]:
    """The names in a table's header; none for .npy."""
    kind = existing_format(path, FORMATS)
    if kind == "npy":
        return []
    return parquet_names(path) if kind == "parquet" else csv_names(path, delimiter_of(path))


def open_writer(
    partial: Path, final: Path, reader: Reader, *, delimiter: str = "", spreadsheet: bool = False
) -> Writer:
    """Open `partial` for writing what will be called `final`."""
    kind = format_of(final, FORMATS)
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
        self.size, self.done = len(self._array), 0

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
