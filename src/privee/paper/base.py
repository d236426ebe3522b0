"""The contract of a result: one table or figure of the paper, in one small module."""

from __future__ import annotations

import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privee.errors import PriveeError
from privee.paper.bench import Bench
from privee.paper.results import Account, Outcome, Row, Size
from privee.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result(ABC):
    """One table or figure."""

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    """Where the paper shows it, or "beyond the paper"."""
    band: ClassVar[str]
    """What the band around each figure is."""

    @abstractmethod
    def rows(self, bench: Bench) -> list[Row]:
        """Measure."""

    @abstractmethod
    def account(self, rows: Sequence[Row]) -> Account:
        """Compare with what is printed."""

    def figure(self, outcome: Outcome) -> Figure | None:
        """The picture, where people would rather look than read."""
        return None

    def settings(self, size: Size) -> dict[str, Any]:
        """What was chosen for this size."""
        return {}


_RESULTS: dict[str, Result] = {}


def register(result: Result) -> Result:
    """Add a result under its name; refuses a name that is taken."""
    if _RESULTS.setdefault(result.name, result) is not result:
        raise PriveeError(f"a result called {result.name!r} exists already")
    return result


def results() -> dict[str, Result]:
    """All results by name, in the order of the paper."""
    return dict(_RESULTS)


def find_result(name: str) -> Result:
    """The result of that name."""
    if name not in _RESULTS:
        raise PriveeError(f"the paper has no result called {name!r}; there are {', '.join(_RESULTS)}")
    return _RESULTS[name]


def measure(result: Result, bench: Bench) -> Outcome:
    """Run a result and compare it with what is printed."""
    start = time.perf_counter()
    rows = tuple(result.rows(bench))
    return Outcome(
        name=result.name,
        title=result.title,
        size=bench.size,
        band=result.band,
        rows=rows,
        account=result.account(rows),
        about={
            "privee": __version__,
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "seconds": round(time.perf_counter() - start, 1),
            "command": f"privee paper run {result.name}{' --full' if bench.size == 'full' else ''}",
            "settings": result.settings(bench.size),
            "machine": {
                "cores": os.cpu_count(),
                "system": f"{platform.system()} {platform.machine()}",
                "python": platform.python_version(),
                "numpy": np.__version__,
            },
        },
    )
