"""Two pieces of work timed by turns, in time of the processor: a busy neighbour slows both, waiting does not count."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

import privee

Work = Callable[[], object]


def seconds(work: Work, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - start) / repeats


def compare(work: Work, base: Work, rounds: int = 31) -> dict[str, float]:
    """The ratio is the median over rounds, each of which times both."""
    repeats = max(1, int(0.02 / max(seconds(work, 3), 1e-7)))
    pairs = [(seconds(work, repeats), seconds(base, repeats)) for _ in range(rounds)]
    ratios = [a / b for a, b in pairs]
    return {
        "ms": 1e3 * statistics.median(a for a, _ in pairs),
        "ratio": statistics.median(ratios),
        "ratio_low": statistics.quantiles(ratios, n=20)[0],
        "ratio_high": statistics.quantiles(ratios, n=20)[-1],
    }


def peak_memory(defense: privee.Defense, scores: np.ndarray) -> float:
    """Peak memory of a release, the release itself included, over the input's size."""
    defense.release(scores)
    tracemalloc.start()
    defense.release(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / scores.nbytes
