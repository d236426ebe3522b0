"""CSV and Parquet files as Arrow tables: CSV cells as text, Parquet columns as they are typed."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from privee.data.files.formats import delimiter_of, existing_format
from privee.data.files.parquet import bounded, read_bounded
from privee.data.files.size_limits import refuse_more, refuse_wide
from privee.errors import PriveeError

CSV_BLOCK = 1 << 24  # a row has to fit into a block


def read_table(path: Path, one_of: Sequence[str] = ()) -> tuple[str, Any]:
    """The format of a CSV or Parquet file and what it holds: all columns, or the first of `one_of` that is there."""
    kind = existing_format(path)
    try:
        with path.open("rb"):
            pass
        return kind, (read_csv if kind == "csv" else read_parquet)(path, one_of)
    except OSError as error:
        raise PriveeError(f"{path.name} cannot be read: {error.strerror or 'input/output error'}") from None


def read_csv(path: Path, one_of: Sequence[str] = ()) -> Any:
    """Every cell as text, as it stands; the first line names the columns. Of `one_of`, only the first that is there."""
    delimiter = delimiter_of(path)
    refuse_more(path.stat().st_size, path.name)
    names = _header(path, delimiter)
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
        arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types={str(k): pa.string() for k in wanted},
            strings_can_be_null=False,
            include_columns=[str(k) for k in wanted],
        ),
    )
    try:
        table = arrow_csv.read_csv(path, *options)
    except pa.ArrowInvalid as error:
        raise PriveeError(_explain(str(error), path)) from None
    if _ends_inside_quotes(path, delimiter):
        raise PriveeError(f"{path.name} is damaged: a quoted cell has no end, as if the file was cut off")
    return table.rename_columns([names[k] for k in wanted])


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


def _first(names: Sequence[str], wanted: Sequence[str], file: str) -> str:
    found = next((name for name in wanted if name in names), None)
    if found is None:
        raise PriveeError(f"{file} has no column {wanted[0]!r}; its columns are {listed(names)}")
    if list(names).count(found) > 1:
        raise PriveeError(f"{file} has two columns called {found!r}; rename one")
    return found


def _header(path: Path, delimiter: str) -> list[str]:
    try:
        # Decoding goes past the first line; what is wrong further down is for Arrow to find, which knows the row.
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            names = [name.strip() for name in next(csv.reader(file, delimiter=delimiter))]
        "".join(names).encode()
    except StopIteration:
        raise PriveeError(f"{path.name} is empty") from None
    except UnicodeEncodeError:
        raise PriveeError(f"{path.name} is not UTF-8 text; save it as UTF-8") from None
    except csv.Error:
        raise PriveeError(f"{path.name} is not a readable CSV file") from None
    return names


def _explain(message: str, path: Path) -> str:
    """Arrow's messages quote cells; ours name the row and stop there."""
    counted = re.search(r"Row #(\d+)", message)
    place = f"{path.name}, data row {int(counted[1]) - 1}" if counted else path.name
    counts = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if counts:
        return f"{place}: the header has {counts[1]} cells, this row {counts[2]}; the file is damaged or cut off"
    if "invalid UTF8" in message:
        return f"{place}: not UTF-8 text; save the file as UTF-8"
    if "straddl" in message and path.stat().st_size > CSV_BLOCK:
        return f"{path.name}: a row is longer than {CSV_BLOCK:,} bytes"
    return f"{path.name} has no rows" if "straddl" in message else f"{path.name} is not a readable CSV file"


def _ends_inside_quotes(path: Path, delimiter: str) -> bool:
    """Arrow takes the rest of a file for one cell if a quote is left open. Only an odd number of quotes can do that."""
    with path.open("rb") as file:
        quotes = sum(block.count(b'"') for block in iter(lambda: file.read(CSV_BLOCK), b""))
    if quotes % 2 == 0:
        return False
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            for _ in csv.reader(text, delimiter=delimiter, strict=True):
                pass
    except csv.Error:
        return True
    return False
