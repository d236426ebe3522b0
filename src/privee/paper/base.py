"""The contract of a result: one table or figure of the paper, in one small module.

All results in a row: what is measured already is taken as it is, so an interrupted run goes on.
Outcomes are kept as one small JSON file each, a picture beside it, written whole or not at all.
"""

from __future__ import annotations

import json
import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from privee.atomic import whole_file
from privee.errors import PriveeError, SettingError
from privee.paper.measure.bench import Bench
from privee.paper.outcomes import Account, Outcome, Row, Size, outcome_from_dict
from privee.paper.released.parts import chosen
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
    in_parts: ClassVar[bool] = False
    """Whether parts of the released code can be switched on."""

    @abstractmethod
    def rows(self, bench: Bench) -> list[Row]:
        """Measure the result on the bench, row by row."""

    def beside(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Rows measured before with what is printed beside them by today's reading."""
        return rows

    @abstractmethod
    def account(self, rows: Sequence[Row]) -> Account:
        """Compare with what is printed."""

    def figure(self, outcome: Outcome) -> Figure | None:
        """The picture, where people would rather look than read."""
        return None

    def tables(self, outcome: Outcome, link: str, others: Mapping[str, Outcome]) -> str | None:
        """Its tables in Markdown, where rows as they stand would not be read.

        Args:
            outcome: what was measured.
            link: leads to the JSON file.
            others: everything on the page, by name.
        """
        return None

    def settings(self, size: Size) -> dict[str, Any]:
        """What was chosen for this size; under `differs`, `cases` or `entries` what differs from the paper."""
        return {}

    def standing(self, row: Row, size: Size) -> int:
        """Where a row stands among others that were measured at another time."""
        return self.datasets(size).index(row.where["dataset"])

    def datasets(self, size: Size) -> tuple[str, ...]:
        """Those that can be measured one by one; none for a result that is measured as a whole."""
        return ()


RESULTS: Named[Result] = Named("result", ("privee.paper.results",))
R = TypeVar("R", bound=Result | type[Result])


def register(result: R) -> R:
    """Add a result, or as a decorator the one result of a class, under its name; refuses a name that is taken."""
    made = result() if isinstance(result, type) else result
    RESULTS.add(made.name, made)
    return result


def known_results() -> dict[str, Result]:
    """All results by name, in the order of the paper."""
    return RESULTS.known()


def find_result(name: str) -> Result:
    """The result of that name."""
    known = known_results()
    if name not in known:
        raise PriveeError(f"the paper has no result called {name!r}; there are {', '.join(known)}")
    return known[name]


def check_parts(result: Result, parts: str | None) -> None:
    """Refuse parts that there are not, and parts of a result that has none."""
    if parts is None:
        return
    if not result.in_parts:
        raise SettingError(f"{result.name} has no parts to switch on; the result as-released has")
    chosen(parts)


def datasets_of(result: Result, size: Size, text: str | None) -> tuple[str, ...] | None:
    """Datasets from a list with commas; refuses those that a result does not have. None for all of them."""
    if text is None:
        return None
    names, known = tuple(name.strip() for name in text.split(",") if name.strip()), result.datasets(size)
    if not known:
        raise SettingError(f"{result.name} is measured as a whole; leave out --only")
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise SettingError(f"{result.name} has no rows of {text!r}; it has {', '.join(known)}")
    return names


def measure_result(result: Result, bench: Bench) -> Outcome:
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
            "command": f"privee paper run {result.name}{' --full' if bench.size == 'full' else ''}"
            + ("" if bench.parts is None else f" --as-released '{bench.parts}'")
            + ("" if bench.only is None else f" --only {','.join(bench.only)}"),
            "settings": result.settings(bench.size),
            "machine": {
                "cores": os.cpu_count(),
                "system": f"{platform.system()} {platform.machine()}",
                "python": platform.python_version(),
                "numpy": np.__version__,
            },
        },
    )


def measure_all(bench: Bench, folder: Path, *, again: bool = False) -> Iterator[Outcome]:
    """Every result, kept in the folder as soon as it is there.

    Args:
        bench: the size, and where models and findings are kept.
        folder: for the outcomes.
        again: measure also what the folder holds for this size, version and settings.
    """
    for result in known_results().values():
        held = None if again else _held(result, bench, folder)
        if held is None:
            held = measure_result(result, bench)
            save_outcome(held, folder)
        yield held


def _held(result: Result, bench: Bench, folder: Path) -> Outcome | None:
    try:
        held = load_outcome(folder / f"{result.name}.json")
    except (OSError, PriveeError):
        return None
    same = (held.size, held.about["privee"]) == (bench.size, __version__)
    return held if same and held.about["settings"] == _plain(result.settings(bench.size)) else None


def _plain(settings: dict[str, Any]) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(settings))


def save_outcome(outcome: Outcome, folder: Path) -> dict[str, Path]:
    """Write NAME.json and, where there is a picture, NAME.png."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{outcome.name}.json"
    with whole_file(path, force=True) as partial:
        partial.write_text(json.dumps(outcome.as_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    figure = find_result(outcome.name).figure(outcome)
    if figure is None:
        return {"json": path}
    picture = folder / f"{outcome.name}.png"
    with whole_file(picture, force=True) as partial:
        figure.savefig(partial, format="png", metadata={"Software": None})
    return {"json": path, "picture": picture}


def load_outcome(path: Path) -> Outcome:
    """Read what `save_outcome` wrote."""
    try:
        return outcome_from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise PriveeError(f"{path} does not hold a result of `privee paper run`; run it again") from None
