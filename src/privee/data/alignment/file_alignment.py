"""Align the parties' files: each gets a file of its own rows, the common ones in the common order."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from privee.atomic import whole_file
from privee.data.alignment.csv_rows import MARK, CsvTable
from privee.data.alignment.engines import Engine
from privee.data.alignment.ids import Rows
from privee.data.alignment.in_process import Alignment, Traffic, align
from privee.data.files.delimiters import SAMPLE, find_delimiter
from privee.data.files.formats import existing_format
from privee.errors import PriveeError
from privee.progress import Progress


class Table(Protocol):
    """A party's file, as far as alignment needs it."""

    ids: list[str]

    def write(self, rows: Rows, target: Path) -> None:
        """Write the given rows, in that order."""


@dataclasses.dataclass(frozen=True)
class FileAlignment:
    """What was done: sizes, files and traffic (where the engine counts it), and nothing about any single record."""

    active: str
    common: int
    records: dict[str, int]
    out: dict[str, Path]
    messages: dict[str, Traffic]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        parties = {
            name: {"records": self.records[name], "out": str(self.out[name])} | self._traffic(name)
            for name in self.records
        }
        return {"active": self.active, "common": self.common, "seconds": self.seconds, "parties": parties}

    def _traffic(self, party: str) -> dict[str, int]:
        return dataclasses.asdict(self.messages[party]) if party in self.messages else {}


def align_files(
    files: Mapping[str, Path],
    *,
    active: str,
    id_columns: Mapping[str, str],
    out: Path,
    delimiter: str = "",
    force: bool = False,
    progress: Progress | None = None,
    engine: Engine = align,
) -> FileAlignment:
    """Write, for each party, `out/<party>` with the suffix of its file; each file appears whole or not at all.

    Args:
        files: each party's .csv, .tsv, .parquet or .pq file.
        active: the party that meets each of the others.
        id_columns: each party's id column.
        out: folder for the results.
        delimiter: of CSV files; found if it is not given.
        force: replace existing results.
        progress: called with (done, size), counted in ids worked on.
        engine: finds the common records, see `engines`.
    """
    started = time.perf_counter()
    targets = {name: _target(name, path, out, force) for name, path in files.items()}
    tables = {name: _open(path, _column(name, id_columns), delimiter) for name, path in files.items()}
    found = engine({name: table.ids for name, table in tables.items()}, active=active, progress=progress)
    _write(tables, found, targets, force)
    records = {name: len(table.ids) for name, table in tables.items()}
    return FileAlignment(active, found.size, records, targets, found.messages, time.perf_counter() - started)


def _target(party: str, path: Path, out: Path, force: bool) -> Path:
    """Refuse before the long work what could not be written after it."""
    if not re.fullmatch(r"\w[\w.-]*", party):
        raise PriveeError(f"a party's name becomes a file name: letters, digits, '_', '-' and '.' only, not {party!r}")
    target = out / (party + path.suffix)
    if out.exists() and not out.is_dir():
        raise PriveeError(f"{out} is a file; give a folder")
    if target.exists() and not force:
        raise PriveeError(f"{target} exists already; use --force to replace it")
    return target


def _column(party: str, id_columns: Mapping[str, str]) -> str:
    if party not in id_columns:
        raise PriveeError(f"no id column is named for party {party}; use --id {party}:COLUMN")
    return id_columns[party]


def _open(path: Path, id_column: str, delimiter: str) -> Table:
    if existing_format(path) == "parquet":
        from privee.data.alignment.parquet_rows import ParquetTable  # here: ids in CSV or in memory need no Arrow

        return ParquetTable(path, id_column)
    with path.open("rb") as file:
        start = file.read(SAMPLE + 1).removeprefix(MARK)
    return CsvTable(path, id_column, find_delimiter(path, delimiter, start))


def _write(tables: Mapping[str, Table], found: Alignment, targets: Mapping[str, Path], force: bool) -> None:
    with contextlib.ExitStack() as stack:  # names are given when all files are written
        for name, table in tables.items():
            targets[name].parent.mkdir(parents=True, exist_ok=True)
            table.write(found.rows[name], stack.enter_context(whole_file(targets[name], force=force)))
