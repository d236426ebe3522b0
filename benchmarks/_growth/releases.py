"""Releases of a million scores in rows of more and more classes: beside np.argsort of the same array, by turns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import privee
from benchmarks._release.cases import softmax
from benchmarks._release.timing import compare, peak_memory
from benchmarks._shared.cells import Cell

CLASSES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
SORTED = (64, 128, 256, 512, 1_024, 4_096, 16_384, 65_536, 262_144, 1_000_000)
VALUES, ROUNDS = 1_000_000, 11
DEFENSES = {
    "PRIVEE-U": privee.PriveeU(rho=0.1),
    "PRIVEE-U+": privee.PriveeUPlus(rho_low=0.1, rho_high=0.9),
    "Ordered-DP": privee.OrderedDP(8.0),
    "ranking-only": privee.RankingOnly(),
}


class ReleaseCell(Cell):
    """The spec is the defense, the seed is the number of classes."""

    @property
    def key(self) -> str:
        return f"{self.dataset}, {self.spec}, {self.seed:,} classes"

    def measured(self, folder: Path) -> dict[str, Any]:
        defense, scores = DEFENSES[self.spec], softmax(VALUES // self.seed, self.seed, 1.0)
        timing = compare(lambda: defense.release(scores), lambda: np.argsort(scores, axis=-1), ROUNDS)
        each = {"ns_per_value": 1e6 * timing["ms"] / scores.size}
        each["argsort_ns_per_value"] = each["ns_per_value"] / timing["ratio"]
        about = {"classes": self.seed, "rows": len(scores), "memory_ratio": peak_memory(defense, scores)}
        return about | each | timing | {"load": os.getloadavg()[0]}


class SortCell(ReleaseCell):
    """Why the line bends: what NumPy's own sorts take, with and without the places of what they sort."""

    def measured(self, folder: Path) -> dict[str, Any]:
        scores = softmax(VALUES // self.seed, self.seed, 1.0)
        timing = compare(lambda: np.argsort(scores, axis=-1), lambda: np.sort(scores, axis=-1), ROUNDS)
        each = 1e6 * timing["ms"] / scores.size
        return {"classes": self.seed, "argsort_ns": each, "sort_ns": each / timing["ratio"], "load": os.getloadavg()[0]}


def cells() -> Iterator[ReleaseCell]:
    for classes in SORTED:
        yield SortCell("releases", "np.argsort", classes)
    for classes in CLASSES:
        yield from (ReleaseCell("releases", name, classes) for name in DEFENSES)
