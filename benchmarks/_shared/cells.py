"""A table measured cell by cell, a dataset, a spec and a seed each: stored one by one, gone on with what is missing."""

from __future__ import annotations

import abc
import argparse
import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

CLOCKS: dict[str, Callable[[], float]] = {"seconds": time.monotonic, "cpu_seconds": time.process_time}
"""What a cell's time is called where it is stored, and how it is taken."""


@dataclasses.dataclass(frozen=True)
class Cell(abc.ABC):
    """One measurement; a benchmark says how it is made."""

    dataset: str
    spec: str
    seed: int

    @property
    def key(self) -> str:
        """Its name in the file of results."""
        return f"{self.dataset}, {self.spec}, seed {self.seed}"

    @abc.abstractmethod
    def measured(self, folder: Path) -> dict[str, Any]:
        """The figures; models that others need as well are kept in the folder."""


class Cells:
    """The cells that are stored in a file.

    Args:
        file: of results, there or not yet.

    Attributes:
        found: figures by the key of their cell.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.found: dict[str, dict[str, Any]] = self._stored.setdefault("cells", {})

    def measure(self, cells: Iterable[Cell], folder: Path, minutes: float, *, clock: str = "seconds") -> None:
        """Measure those that are missing, in this order; none is begun after so many minutes."""
        todo, end = [cell for cell in cells if cell.key not in self.found], time.monotonic() + 60 * minutes
        for k, cell in enumerate(todo):
            if time.monotonic() > end:
                return
            started = CLOCKS[clock]()
            measured = cell.measured(folder)
            self.found[cell.key] = measured | {clock: round(CLOCKS[clock]() - started, 1)}
            self._keep()
            print(f"{k + 1} of {len(todo)}: {cell.key}: {self.found[cell.key]}", flush=True)

    def _keep(self) -> None:
        """Whole or not at all, with what somebody else has measured meanwhile."""
        if self._file.exists():
            self.found |= json.loads(self._file.read_text(encoding="utf-8")).get("cells", {}) | self.found
        beside = self._file.with_suffix(f".{os.getpid()}.part")
        told = {"torch": torch.__version__} | self._stored
        beside.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        beside.replace(self._file)


def cell_options(about: str | None, page: str) -> argparse.ArgumentParser:
    """What such a benchmark can be told."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="these datasets alone")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long; what is missing can follow")
    parser.add_argument("--show", action="store_true", help="print what is stored and measure nothing")
    parser.add_argument("--page", action="store_true", help=f"put what is stored into {page}")
    return parser
