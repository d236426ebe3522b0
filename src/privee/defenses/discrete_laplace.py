"""Discrete Laplace noise whose privacy holds for the very integers that are drawn: no floating point in the proof.

Noise k has probability proportional to a whole number `weight[|k|]`, and one 64-bit word decides which k it is. The
weights are made so that, in exact integer arithmetic,

    weight[k] / weight[k + 1] <= exp(step)      and the same for the sums of tails,

which is all that the proof needs (docs/ordered_dp.md). Values live on the grid 0..GRID and are clipped to it after the
noise was added, so noise beyond GRID is the same as noise of GRID: the last weight holds the whole tail.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privee.randomness import Draws

GRID = 1 << 12
TOTAL = 1 << 64
FIRST_BITS = 16
FEW = 64
"""Fewer words than this are not worth a table."""
_REST = np.uint64(64 - FIRST_BITS)

Integers = NDArray[np.int64]


def add_noise(values: Integers, step: float, draws: Draws) -> Integers:
    """Add independent noise to values on the grid and clip to it: exp(step) for every grid step of difference."""
    noise = _found(step, draws.words(values.size))
    noise += values.reshape(-1)
    noise -= GRID
    np.minimum(noise, GRID, out=noise)
    return np.maximum(noise, 0, out=noise).reshape(values.shape)


def _found(step: float, words: NDArray[np.uint64]) -> Integers:
    """How many thresholds are at or below each word: `searchsorted`, with a look into a table first."""
    thresholds = _thresholds(step)
    if words.size < FEW:
        return thresholds.searchsorted(words, side="right")
    found = _by_first_bits(step).take((words >> _REST).view(np.int64)).astype(np.int64)
    open_ones = np.flatnonzero(found < 0)
    found[open_ones] = thresholds.searchsorted(words[open_ones], side="right")
    return found


@functools.lru_cache(maxsize=64)
def weights(step: float) -> tuple[int, ...]:
    """Whole numbers for the magnitudes 0..GRID; weight[0] + 2 (weight[1] + ... + weight[GRID]) is 2**64, or one less.

    Rounding up can add one to each weight, which then lives on in all that follow; `slack` leaves room for that, and
    what is left of it goes to the two ends, where more weight does no harm.
    """
    ratio = _ratio_above(step)
    slack = 4 * (GRID + 1 / (1 - ratio)) / (1 - ratio)
    falling = _falling(math.floor((TOTAL - slack) * (1 - ratio) / (1 + ratio)), ratio)
    falling[-1] += (TOTAL - 2 * sum(falling) + falling[0]) // 2
    return tuple(falling)


def _falling(start: int, ratio: Fraction) -> list[int]:
    """Each weight is the last one times `ratio`, rounded up; the last one holds the tail of all that would follow."""
    found = [start]
    for _ in range(GRID - 1):
        found.append(_ceil_times(found[-1], ratio))
    found.append(_ceil_times(found[-1], ratio / (1 - ratio)))
    return found


def _ceil_times(whole: int, ratio: Fraction) -> int:
    return -(-whole * ratio.numerator // ratio.denominator)


def _ratio_above(step: float) -> Fraction:
    """A fraction a little above exp(-step), so that ratios of weights stay below exp(step)."""
    return Fraction(math.ceil(math.exp(-step) * (1 + 2.0**-50) * 2**60), 2**60)


@functools.lru_cache(maxsize=64)
def _thresholds(step: float) -> NDArray[np.uint64]:
    """Cumulative weights of the noise -GRID, ..., GRID; a word below the first one means -GRID, and so on."""
    half = weights(step)
    sums, total = [], 0
    for weight in (*half[:0:-1], *half):
        total += weight
        sums.append(total)
    return np.array(sums[:-1], dtype=np.uint64)  # all other words mean GRID


@functools.lru_cache(maxsize=16)
def _by_first_bits(step: float) -> NDArray[np.int16]:
    """What all words with the same first bits stand for; -1 where a threshold lies among them. It fits the cache."""
    first = np.arange(1 << FIRST_BITS, dtype=np.uint64) << _REST
    last = first | ((np.uint64(1) << _REST) - np.uint64(1))
    low, high = (_thresholds(step).searchsorted(ends, side="right") for ends in (first, last))
    found = np.where(low == high, low, -1).astype(np.int16)
    found.setflags(write=False)
    return found
