"""All results in a row: what is measured already is taken as it is, so an interrupted run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from privee.errors import PriveeError
from privee.paper.base import Result, measure, results
from privee.paper.bench import Bench
from privee.paper.results import Outcome
from privee.paper.saving import load_outcome, save_outcome
from privee.version import __version__


def measure_all(bench: Bench, folder: Path, *, again: bool = False) -> Iterator[Outcome]:
    """Every result, kept in the folder as soon as it is there.

    Args:
        bench: the size, and where models and findings are kept.
        folder: for the outcomes.
        again: measure also what the folder holds for this size and version.
    """
    for result in results().values():
        held = None if again else _held(result, bench, folder)
        if held is None:
            held = measure(result, bench)
            save_outcome(held, folder)
        yield held


def _held(result: Result, bench: Bench, folder: Path) -> Outcome | None:
    try:
        held = load_outcome(folder / f"{result.name}.json")
    except (OSError, PriveeError):
        return None
    return held if (held.size, held.about["privee"]) == (bench.size, __version__) else None
