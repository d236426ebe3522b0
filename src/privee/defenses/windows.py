"""Randomised response with windows: cells near the true one come out e^epsilon times as often as the others.

From cell i comes any of the `width` cells from `starts[i]` on for `high` of the 2**64 words that can be drawn, and any
other cell for `low` of them. With whole numbers and, in exact arithmetic,

    high <= e^epsilon low,

no outcome is more than e^epsilon times likelier under one cell than under another: pure epsilon local differential
privacy for whatever led to the cell, wherever the windows are, and no floating point in the proof.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privee.randomness import Draws

CELLS = 1 << 7
TOTAL = 1 << 64
STRONGEST = 40.0
"""An epsilon above this is treated as this one: low would be less than one word."""

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]


def respond(starts: Integers, width: Integers, high: Words, low: Words, draws: Draws) -> Integers:
    """A cell for each window that starts at `starts`; all four broadcast, and one word is drawn for each start."""
    words = draws.words(starts.size).reshape(starts.shape)
    inside = high * width.astype(np.uint64)
    # What is left of 2**64 after whole shares, less than CELLS words, goes to the last cell outside of the window.
    outside = np.minimum(((words - inside) // low).astype(np.int64), CELLS - 1 - width)
    outside += np.where(outside >= starts, width, 0)
    return np.where(words < inside, starts + (words // high).astype(np.int64), outside)


@functools.lru_cache(maxsize=1024)
def word_shares(epsilon: float, width: int) -> tuple[int, int]:
    """`high` and `low`: width * high + (CELLS - width) * low is 2**64, or less by fewer than `width`.

    low is rounded up, so that width * high <= 2**64 - (CELLS - width) * low <= width * ratio * low.
    """
    ratio = _ratio_below(epsilon)
    low = math.ceil(TOTAL / (width * ratio + CELLS - width))
    return (TOTAL - (CELLS - width) * low) // width, low


def _ratio_below(epsilon: float) -> Fraction:
    """A fraction a little below e^epsilon: the margin covers the rounding of exp and of an epsilon that was divided."""
    return Fraction(math.exp(min(epsilon, STRONGEST))) * (1 - Fraction(1, 2**45))


def window_probabilities(starts: Integers, width: int, epsilon: float) -> NDArray[np.float64]:
    """Probability of every outcome (columns) from every cell (rows), to the accuracy of floats."""
    high, low = word_shares(epsilon, width)
    cells = np.arange(CELLS)
    inside = (cells >= starts[:, None]) & (cells < starts[:, None] + width)
    return np.asarray(np.where(inside, high / TOTAL, low / TOTAL))
