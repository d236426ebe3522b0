"""Score files opened for reading and writing, each in its own format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from privee.data.files.formats import TABLES, delimiter_of, existing_format, format_of
from privee.data.score_files.blocks import Reader, Writer
from privee.data.score_files.csv_scores import CsvReader, TableWriter, csv_names
from privee.data.score_files.npy_scores import NpyReader, NpyWriter
from privee.data.score_files.parquet_scores import ParquetReader, parquet_names
from privee.errors import PriveeError

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
