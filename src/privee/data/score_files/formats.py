"""Choosing a format by the file's suffix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from privee.data.score_files.blocks import Reader, Writer
from privee.data.score_files.csv_scores import CsvReader, TableWriter, csv_names
from privee.data.score_files.npy_scores import NpyReader, NpyWriter
from privee.data.score_files.parquet_scores import ParquetReader, parquet_names
from privee.errors import PriveeError

SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".npy": "npy"}


def kind_of(path: Path) -> str:
    """The format of a file, from its suffix."""
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise PriveeError(f"{path.name}: cannot tell the format; use one of {', '.join(SUFFIXES)}")
    return kind


def open_reader(path: Path, *, keep: Sequence[str] = (), scores: Sequence[str] = (), delimiter: str = "") -> Reader:
    """Open a score file for reading."""
    if not path.is_file():
        raise PriveeError(f"{path}: no such file")
    kind = kind_of(path)
    if kind == "npy":
        if keep or scores:
            raise PriveeError("a .npy file has no column names; --id and --scores need CSV or Parquet")
        return NpyReader(path)
    if kind == "parquet":
        return ParquetReader(path, keep, scores)
    return CsvReader(path, keep, scores, _delimiter(path, delimiter))


def column_names(path: Path) -> list[str]:
    """The names in a table's header; none for .npy."""
    if not path.is_file():
        raise PriveeError(f"{path}: no such file")
    kind = kind_of(path)
    if kind == "npy":
        return []
    return parquet_names(path) if kind == "parquet" else csv_names(path, _delimiter(path, ""))


def open_writer(
    partial: Path, final: Path, reader: Reader, *, delimiter: str = "", spreadsheet: bool = False
) -> Writer:
    """Open `partial` for writing what will be called `final`."""
    kind = kind_of(final)
    if kind == "npy":
        if reader.column_order is not None:
            raise PriveeError("tables are not written to .npy, which would lose their column names; use CSV or Parquet")
        return NpyWriter(partial, reader.size, reader.one_vector)
    csv_delimiter = _delimiter(final, delimiter) if kind == "csv" else None
    return TableWriter(partial, reader.score_names, reader.column_order, csv_delimiter, spreadsheet=spreadsheet)


def _delimiter(path: Path, given: str) -> str:
    if len(given) > 1:
        raise PriveeError(f"the delimiter must be one character, got {given!r}")
    return given or ("\t" if path.suffix.lower() == ".tsv" else ",")
