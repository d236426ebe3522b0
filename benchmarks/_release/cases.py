"""What is timed, and the bars: releases, one vector beside the paper, repeatable draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

import privee
from benchmarks._release.timing import Work, compare, peak_memory
from privee.defenses.repeatable import Repeatable

PAPER_MS = {10: 1.6, 100: 3.8, 1000: 12.0, 10_000: 145.4}
SHAPES = ((10_000, 10), (200, 1000), (20, 10_000))
U = privee.PriveeU(rho=0.1)
REPEATABLE_BAR = 80_000
"""Rows per second at 10 classes."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One release of one array, beside another piece of work on the same array."""

    name: str
    defense: privee.Defense
    scores: np.ndarray
    bar: float | None = None
    beside: str = "argsort"

    def base(self) -> Work:
        return BESIDE[self.beside](self.scores)


BESIDE: dict[str, Callable[[np.ndarray], Work]] = {
    "argsort": lambda scores: lambda: np.argsort(scores, axis=-1),
    "np.round": lambda scores: lambda: np.round(scores, 2),
}


def softmax(rows: int, classes: int, spread: float, dtype: type = np.float64) -> np.ndarray:
    logits = np.random.default_rng(classes).normal(size=(rows, classes)) * spread
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (scores / scores.sum(axis=1, keepdims=True)).astype(dtype)


def cases() -> list[Case]:
    """Mild scores have a spread of 1 before softmax, saturated ones of 30: the top one is 1, most others are dust."""
    plus, dp = privee.PriveeUPlus(rho_low=0.1, rho_high=0.9), privee.OrderedDP(8.0)
    single, double = np.float32, np.float64
    kinds = {", float32": (1.0, single), ", saturated": (30.0, double), ", saturated float32": (30.0, single)}
    listed = [
        Case(f"PRIVEE-U{kind}", U, softmax(*shape, spread, dtype), _bar(spread, shape[1]))
        for kind, (spread, dtype) in ({"": (1.0, double)} | kinds).items()
        for shape in SHAPES
    ]
    listed.append(Case("PRIVEE-U, one long row", U, softmax(1, 100_000, 1.0), 1.7))
    others = (("PRIVEE-U+", plus, None), ("Ordered-DP", dp, 3.5), ("ranking-only", privee.RankingOnly(), 3.0))
    for name, defense, bar in others:
        listed += [Case(name, defense, softmax(*shape, 1.0), bar) for shape in SHAPES]
        listed.append(Case(f"{name}, float32", defense, softmax(*SHAPES[0], 1.0, single), bar))
        listed.append(Case(f"{name}, saturated", defense, softmax(*SHAPES[0], 30.0), bar and 3.5))
    for dtype, kind in ((double, ""), (single, ", float32")):
        listed.append(Case(f"rounding{kind}", privee.Rounding(2), softmax(*SHAPES[0], 1.0, dtype), None, "np.round"))
    return listed


def _bar(spread: float, classes: int) -> float:
    return 3.5 if spread > 1 else 2.4 if classes == 10 else 1.7


def measured(case: Case, rounds: int) -> dict[str, object]:
    timing = compare(lambda: case.defense.release(case.scores), case.base(), rounds)
    about = {"case": case.name, "shape": list(case.scores.shape), "beside": case.beside, "bar": case.bar}
    return about | {"memory_ratio": peak_memory(case.defense, case.scores)} | timing


def one_vector(rounds: int) -> list[dict[str, object]]:
    """Microseconds of processor time for one vector, beside the milliseconds that the paper prints."""
    found = []
    for classes, printed in PAPER_MS.items():
        vector = softmax(1, classes, 1.0)[0]
        timing = compare(lambda c=vector: U.release(c), lambda c=vector: np.argsort(c), rounds)
        bar = 12.0 if classes == 10 else None
        found.append({"classes": classes, "us": 1e3 * timing["ms"], "us_bar": bar, "printed_ms": printed} | timing)
    return found


def repeatable(rounds: int) -> list[dict[str, object]]:
    """Rows per second with keyed draws and 32 query columns, beside the same rows with fresh draws in one batch."""
    found = []
    for classes in (10, 1000):
        scores = softmax(2000 if classes == 10 else 200, classes, 1.0)
        asked = np.random.default_rng(1).random((len(scores), 32))
        for defense in (U, privee.RankingOnly(), privee.OrderedDP(8.0), privee.GaussianNoise(0.5), privee.Rounding(2)):
            held = Repeatable(defense, key=bytes(range(32)), model_version="bench")
            people = range(len(scores))
            timing = compare(
                lambda h=held, c=scores, q=asked, p=people: h.release(c, entities=p, queries=q),
                lambda d=defense, c=scores: d.release(c),
                rounds,
            )
            rate = len(scores) / timing["ms"] * 1e3
            bar = REPEATABLE_BAR if classes == 10 else None
            about = {"defense": defense.spec, "classes": classes, "rows_per_second": rate, "bar": bar}
            found.append(about | {"plain_rows_per_second": rate * timing["ratio"], "ratio": timing["ratio"]})
    return found
