"""The contract of a result: one table or figure of the paper, in one small module."""

from __future__ import annotations

import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from privee.errors import PriveeError
from privee.paper.bench import Bench
from privee.paper.results import Account, Outcome, Row, Size
from privee.registry import LAST, Named
from privee.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result(ABC):
    """One table or figure."""

    name: ClassVar[str]
    place: ClassVar[int] = LAST
    """Where it stands in listings and in the report: the lower, the earlier."""
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


RESULTS: Named[Result] = Named("result", ("privee.paper",))
R = TypeVar("R", bound=Result | type[Result])


def register(result: R) -> R:
    """Add a result, or as a decorator the one result of a class, under its name; refuses a name that is taken."""
    made = result() if isinstance(result, type) else result
    RESULTS.add(made.name, made)
    return result


def results() -> dict[str, Result]:
    """All results by name, in the order of the paper."""
    return RESULTS.known()


def find_result(name: str) -> Result:
    """The result of that name."""
    known = results()
    if name not in known:
        raise PriveeError(f"the paper has no result called {name!r}; there are {', '.join(known)}")
    return known[name]


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
