"""Rows as CSV that a spreadsheet may open: no cell is a formula there, whatever others wrote into names and reasons.

Where a spreadsheet splits lines at semicolons, as in much of Europe, what follows one inside a cell begins a new cell;
so that gets a quote in front, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from privee.data.score_files.csv_scores import as_text

Kind = Literal["text", "count", "share", "time"]
_INSIDE = "([;\t\r\n])([\\s\"']*[=+\\-@\uff1d\uff0b\uff0d\uff20])"


def csv_text(columns: Mapping[str, Kind], rows: Sequence[Sequence[Any]], header: bool = False) -> bytes:
    """Some rows of a table; times are seconds since 1970 here and UTC there, None is an empty cell.

    Example:
        >>> print(csv_text({"name": "text", "at": "time"}, [("=1+1", 0), ("shop;=2", None)], header=True).decode())
        "name","at"
        "'=1+1",1970-01-01 00:00:00Z
        "shop;'=2",
        <BLANKLINE>
    """
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    arrays = [_array(list(column), kind) for column, kind in zip(values, columns.values(), strict=True)]
    sink = pa.BufferOutputStream()
    options = arrow_csv.WriteOptions(include_header=header)
    arrow_csv.write_csv(pa.table(arrays, names=list(columns)), sink, options)
    return bytes(sink.getvalue())


def _array(values: list[Any], kind: Kind) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    types = {"text": pa.string(), "count": pa.int64(), "share": pa.float64(), "time": pa.timestamp("s", tz="UTC")}
    found = pa.array(values, types[kind])
    return pc.replace_substring_regex(as_text(found), _INSIDE, r"\1'\2") if kind == "text" else found
