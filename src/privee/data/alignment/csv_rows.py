"""A CSV file whose rows are picked out byte for byte: no cell is read and written again, so none can change."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from privee.data.alignment.ids import Rows
from privee.data.files.size_limits import refuse_more
from privee.errors import PriveeError

MARK = b"\xef\xbb\xbf"  # some programs begin UTF-8 files with it


MOST_LINE = 1 << 24
ROW_BYTES, ROWS_BETWEEN = 300, 1 << 16  # what a row takes here, and how often that is looked at


class CsvTable:
    """Ids of a CSV file with a header, as text, and where each row lies in the file."""

    def __init__(self, path: Path, id_column: str, delimiter: str) -> None:
        self._path = path
        self.ids: list[str] = []
        places: list[tuple[int, int]] = []
        with path.open("rb") as file:
            records = _records(file, delimiter, path.name)
            names, header = next(records, ([], (0, 0)))
            column = column_place(names, id_column, path.name)
            for cells, place in records:
                if len(cells) != len(names):
                    row = f"{path.name}: data row {len(places) + 1}"
                    raise PriveeError(f"{row} has {len(cells)} cells where the header has {len(names)}")
                self.ids.append(cells[column])
                places.append(place)
                if len(places) % ROWS_BETWEEN == 0:
                    refuse_more(ROW_BYTES * len(places), path.name)
        self._header, self._places = header, np.array(places, dtype=np.int64)

    def write(self, rows: Rows, target: Path) -> None:
        """Write the header and the given rows, in that order."""
        with self._path.open("rb") as source, target.open("wb") as out:
            header = _piece(source, *self._header)
            newline = b"\r\n" if header.endswith(b"\r\n") else b"\n"
            out.write(header if header.endswith(b"\n") else header + newline)
            for start, end in self._places[rows].tolist():
                row = _piece(source, start, end)
                out.write(row if row.endswith(b"\n") else row + newline)


def column_place(names: list[str], column: str, file: str) -> int:
    """Where a column is, or an error that says what there is instead."""
    if names.count(column) > 1:
        raise PriveeError(f"{file}: the column name {column!r} appears twice")
    if column not in names:
        listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        raise PriveeError(f"{file}: no column is called {column!r}; the columns are {listed or 'none'}")
    return names.index(column)


def _piece(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


class _Lines:
    """Lines as text, counting the bytes they take."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name, self.position = file, name, 0

    def __iter__(self) -> Iterator[str]:
        for line in iter(lambda: self._file.readline(MOST_LINE), b""):
            if len(line) == MOST_LINE:
                raise PriveeError(f"{self._name}: a line is longer than {MOST_LINE:,} bytes")
            text = line.removeprefix(MARK) if self.position == 0 else line
            self.position += len(line)
            yield text.decode()


def _records(file: BinaryIO, delimiter: str, name: str) -> Iterator[tuple[list[str], tuple[int, int]]]:
    """Cells of each record with its first byte and the byte after it; empty lines are passed over."""
    lines = _Lines(file, name)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 0
    try:
        for cells in reader:  # takes no line more than the record needs, so the position is where the record ends
            if cells:
                yield cells, (start, lines.position)
            start = lines.position
    except UnicodeDecodeError:
        raise PriveeError(f"{name}: line {reader.line_num + 1} is not UTF-8 text") from None
    except csv.Error:
        raise PriveeError(f"{name}: line {reader.line_num} cannot be read as CSV; is a quote left open?") from None
