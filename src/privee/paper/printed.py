"""The paper's printed numbers, which ship with the package."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import Any

from privee.paper.results import Value


@functools.cache
def printed_tables() -> dict[str, Any]:
    """All tables as printed, by name."""
    text = files("privee.paper").joinpath("printed.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)["tables"]
    return tables


def printed(table: str, *keys: str) -> Value | None:
    """One printed number; with one standard deviation to both sides where one is printed. None where none is."""
    found: Any = printed_tables()[table]
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None:
        return None
    if not isinstance(found, dict):
        return Value(value=float(found))
    mean, deviation = float(found["mean"]), found.get("std")
    return Value(value=mean) if deviation is None else Value(value=mean, low=mean - deviation, high=mean + deviation)
