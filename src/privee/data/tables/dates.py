"""Dates in cells of CSV, as seconds since 1970: what the dates of Parquet become too."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"
DAY_FIRST = r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}$"
"""With dots the day comes first everywhere; with slashes it depends on the country, so those stay text."""


def seconds_of_dates(text: Any) -> Any | None:
    """Numbers for a column whose known cells are all dates, written alike; None for any other."""
    known = pc.drop_null(text)
    if not len(known):
        return None
    if _all_match(known, DAY_FIRST):
        text = _year_first(text)
    elif not _all_match(known, ISO):
        return None
    try:
        moments = pc.cast(text, pa.timestamp("us"))
    except pa.ArrowInvalid:  # such as a thirteenth month
        return None
    return pc.divide(pc.cast(pc.cast(moments, pa.int64()), pa.float64(), safe=False), 1e6)


def _year_first(text: Any) -> Any:
    padded = pc.replace_substring_regex(text, r"^([0-9])\.", r"0\1.")
    padded = pc.replace_substring_regex(padded, r"\.([0-9])\.", r".0\1.")
    return pc.replace_substring_regex(padded, r"^(..)\.(..)\.(....)$", r"\3-\2-\1")


def _all_match(cells: Any, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())
