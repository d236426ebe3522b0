"""Tables, numbers and commands as the page shows them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"


def stored(name: str) -> Any:
    """A file of results; None if it was not measured yet."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return ["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *(f"| {' | '.join(row)} |" for row in rows), ""]


def figure(value: float | None, digits: int = 2) -> str:
    """So many digits that count, without exponents."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    shown = f"{float(f'{value:.{digits}g}'):,.12f}".rstrip("0").rstrip(".")
    return shown


def size(count: float) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if count >= unit:
            return f"{figure(count / unit)} {name}"
    return f"{count:.0f} bytes"


def seconds(value: float) -> str:
    if value >= 120:
        return f"{figure(value / 60)} minutes"
    return f"{figure(value)} s" if value >= 1 else f"{figure(1e3 * value)} ms" if value >= 1e-3 else _micro(value)


def _micro(value: float) -> str:
    return f"{figure(1e6 * value)} us"


def command(line: str, name: str, more: str = "") -> list[str]:
    """What makes the figures, and where they are stored."""
    return ["", f"`{line}` ({f'{more}; ' if more else ''}`benchmarks/results/{name}.json`)"]


def loads(found: Iterable[dict[str, Any]]) -> str:
    """The load average that figures were measured at."""
    known = sorted(one["load"] for one in found if "load" in one)
    return f"load {known[0]:.0f} to {known[-1]:.0f}" if known else "load not known"
