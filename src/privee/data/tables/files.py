"""CSV and Parquet files as Arrow tables: CSV cells as text, Parquet columns as they are typed."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from privee.errors import PriveeError

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
CSV_BLOCK = 1 << 24  # a row has to fit into a block


def read_csv(path: Path) -> Any:
    """Every cell as text, as it stands. The first line names the columns."""
    delimiter = DELIMITERS[path.suffix.lower()]
    names = _header(path, delimiter)
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
            column_types={str(k): pa.string() for k in range(len(names))}, strings_can_be_null=False
        ),
    )
    try:
        table = arrow_csv.read_csv(path, *options)
    except pa.ArrowInvalid as error:
        raise PriveeError(_explain(str(error), path)) from None
    if _ends_inside_quotes(path, delimiter):
        raise PriveeError(f"{path.name} is damaged: a quoted cell has no end, as if the file was cut off")
    return table.rename_columns(names)


def read_parquet(path: Path) -> Any:
    """The whole file, checked."""
    try:
        with arrow_parquet.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        raise PriveeError(f"{path.name} is damaged, or not a Parquet file") from None
    return table


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
