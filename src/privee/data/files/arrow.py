"""CSV and Parquet files as Arrow tables: CSV cells as text, Parquet columns as they are typed."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as arrow_csv

from privee.data.files.dialect import Dialect, open_text
from privee.data.files.formats import format_of, unpacked_name
from privee.data.files.parquet import bounded, read_bounded
from privee.data.files.size_limits import refuse_wide
from privee.errors import PriveeError

CSV_BLOCK = 1 << 24  # a row has to fit into a block


class Content(NamedTuple):
    """What a file holds, its format, and of CSV how it is written."""

    kind: str
    table: Any
    dialect: Dialect | None = None


def read_table(path: Path, one_of: Sequence[str] = (), delimiter: str = "") -> Content:
    """What a CSV or Parquet file holds: all columns, or the first of `one_of` that is there."""
    if path.is_dir():
        raise PriveeError(f"{path} is a folder; give a file")
    kind = format_of(unpacked_name(path))
    try:
        if not path.is_file():
            raise PriveeError(f"{path}: no such file")
        if kind == "parquet":
            return Content(kind, read_parquet(path, one_of))
        table, dialect = read_csv(path, one_of, delimiter)
        return Content(kind, table, dialect)
    except OSError as error:
        raise PriveeError(f"{path.name} cannot be read: {error.strerror or 'input/output error'}") from None


def read_csv(path: Path, one_of: Sequence[str] = (), delimiter: str = "") -> tuple[Any, Dialect]:
    """Every cell as text, as it stands; the first line names the columns. Of `one_of`, only the first that is there."""
    dialect, text = open_text(path, delimiter)
    names = _header(text, dialect.delimiter, path.name)
    refuse_wide(len(names), path.name)
    wanted = [names.index(_first(names, one_of, path.name))] if one_of else list(range(len(names)))
    options = (
        # The names are given, so that duplicates can be told; one thread, because only then Arrow counts rows.
        arrow_csv.ReadOptions(
            column_names=[str(k) for k in range(len(names))],
            skip_rows_after_names=1,
            block_size=CSV_BLOCK,
            use_threads=False,
        ),
        arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types={str(k): pa.string() for k in wanted},
            strings_can_be_null=False,
            include_columns=[str(k) for k in wanted],
        ),
    )
    try:
        table = arrow_csv.read_csv(pa.BufferReader(text), *options)
    except pa.ArrowInvalid as error:
        raise PriveeError(_explain(str(error), path.name, len(text), delimiter)) from None
    if _ends_inside_quotes(text, dialect.delimiter):
        raise PriveeError(f"{path.name} is damaged: a quoted cell has no end, as if the file was cut off")
    return table.rename_columns([names[k] for k in wanted]), dialect


def read_parquet(path: Path, one_of: Sequence[str] = ()) -> Any:
    """The whole file, checked; or only the first of these columns that is there."""
    try:
        with bounded(path) as file:
            columns = [_first(file.schema_arrow.names, one_of, path.name)] if one_of else None
        table = read_bounded(path, columns, page_checksum_verification=True)
        table.validate(full=True)
    except PriveeError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        raise PriveeError(f"{path.name} is damaged, or not a Parquet file") from None
    return table


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for an error message, not too many of them."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def no_column(file: str, wanted: str, names: Sequence[str]) -> PriveeError:
    """The error for a column that is not there: what there is, and what may have been meant."""
    lower = {name.strip().lower(): name for name in names}
    near = difflib.get_close_matches(wanted.strip().lower(), lower, n=1)
    meant = f"; did you mean {lower[near[0]]!r}?" if near else ";"
    return PriveeError(f"{file} has no column {wanted!r}{meant} its columns are {listed(names)}")


def _first(names: Sequence[str], wanted: Sequence[str], file: str) -> str:
    found = next((name for name in wanted if name in names), None)
    if found is None:
        raise no_column(file, wanted[0], names)
    if list(names).count(found) > 1:
        raise PriveeError(f"{file} has two columns called {found!r}; rename one")
    return found


def _lines(text: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(pa.BufferReader(text), encoding="utf-8", newline="")


def _header(text: Any, delimiter: str, file: str) -> list[str]:
    try:
        rows = csv.reader(_lines(text), delimiter=delimiter)
        return [name.strip() for name in next(row for row in rows if row)]  # blank lines before it are none
    except StopIteration:
        raise PriveeError(f"{file} is empty") from None
    except csv.Error:
        raise PriveeError(f"{file} is not a readable CSV file") from None


def _explain(message: str, file: str, size: int, given: str) -> str:
    """Arrow's messages quote cells; ours name the row and stop there."""
    counted = re.search(r"Row #(\d+)", message)
    place = f"{file}, data row {int(counted[1]) - 1}" if counted else file
    counts = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if counts:
        cells = f"{counts[1]} cell{'s' if counts[1] != '1' else ''}"
        or_else = f", or its delimiter is not {given!r}" if given else ""
        return f"{place}: the header has {cells}, this row {counts[2]}; the file is damaged or cut off{or_else}"
    if "straddl" in message and size > CSV_BLOCK:
        return f"{file}: a row is longer than {CSV_BLOCK:,} bytes"
    return f"{file} has no rows" if "straddl" in message else f"{file} is not a readable CSV file"


def _ends_inside_quotes(text: Any, delimiter: str) -> bool:
    """Arrow takes the rest of a file for one cell if a quote is left open. Only an odd number of quotes can do that."""
    quotes = sum(bytes(text[place : place + CSV_BLOCK]).count(b'"') for place in range(0, len(text), CSV_BLOCK))
    if quotes % 2 == 0:
        return False
    try:
        for _ in csv.reader(_lines(text), delimiter=delimiter, strict=True):
            pass
    except csv.Error:
        return True
    return False
