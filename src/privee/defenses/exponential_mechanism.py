"""The exponential mechanism on a grid, in whole numbers: no floating point in what is proven.

A true value g on the grid 0..grid comes out as the place r with probability weight[|r - g|] / total[g], where the
weights are whole numbers that fall by a factor of e^step at most from one distance to the next, and total[g] is their
sum over the places there are. One 64-bit word decides, by multiplication: probabilities are right to 2**-32 of
themselves.

What two vectors of such values give away together is at most their L1 distance times 2 step: once for the weights,
once for the totals, which differ too (near an end of the grid there are fewer places). That is why the textbook has
exp(-epsilon u / 2). Here both are counted as they are: `vector_epsilon` where every grid value is a place,
`largest_loss` for any table of losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Array = NDArray[np.float64]

TOTAL = 1 << 32
ROUNDING = 2.0**-30
"""More than what words rounded to whole shares can add to the loss of one value: 2**-32 in either direction, twice."""
MOST_ROUNDS = 60
_LOW, _HALF = np.uint64(TOTAL - 1), np.uint64(32)


def falling_weights(step: float, length: int) -> Integers:
    """Whole weights of the distances 0..length - 1: each is the last one times e^-step, rounded up, so never zero.

    The sum over both sides stays below 2**32.
    """
    ratio = Fraction(math.ceil(math.exp(-step) * (1 + 2.0**-50) * 2**60), 2**60)
    start = TOTAL // 2
    while True:
        found = [start]
        for _ in range(length - 1):
            found.append(-(-found[-1] * ratio.numerator // ratio.denominator))
        excess = 2 * sum(found) / TOTAL
        if excess < 1:
            return np.array(found)
        start = max(1, math.floor(start / excess * (1 - 2.0**-10)))


def share_of(words: Words, totals: Words) -> Integers:
    """A whole number from 0 to total - 1 for each word: word * total / 2**64, rounded down, without overflow."""
    high, low = words >> _HALF, words & _LOW
    return np.asarray((high * totals + (low * totals >> _HALF)) >> _HALF).astype(np.int64)


def vector_epsilon(step: float, furthest: float, totals: Integers, n_classes: int) -> float:
    """The largest loss between two vectors of grid values that sum to the grid at most, if every grid value is a place.

    Then totals are concave in the true value, lowest at the ends.

    Args:
        step: what one step of distance tells.
        furthest: the largest L1 distance between two of the vectors, in steps.
        totals: the sum of weights from each true value, 0..grid.
        n_classes: how many values a vector has.
    """
    logs = np.log(totals)
    most = float(np.interp((len(totals) - 1) / n_classes, np.arange(len(totals)), logs))  # K values, by Jensen
    return step * furthest + n_classes * (most - float(logs[0]) + ROUNDING)


def losses(chances: Array) -> Array:
    """The largest log-ratio over outcomes (columns) between every two true values (rows)."""
    logs = np.log(chances)
    found = np.full((len(logs), len(logs)), -np.inf)
    for outcome in logs.T:
        np.maximum(found, outcome[:, None] - outcome, out=found)
    return found


def largest_loss(table: Array, n_classes: int) -> float:
    """No K pairs (x, x') of grid values, both summing to the grid at most, lose more than this together.

    For any prices a, b of x and x', in units of the grid, it is at most a + b + K max(loss(x, x') - a x - b x'): weak
    duality, so it holds whatever the prices are. Good ones are those of a linear program over the pairs that matter.
    """
    from scipy.optimize import linprog  # here, so that importing privee stays fast

    grid = len(table) - 1
    shares = np.arange(grid + 1) / grid
    pairs, best = [(0, 0), (0, grid), (grid, 0)], np.inf
    for _ in range(MOST_ROUNDS):
        found = linprog(
            [1.0, 1.0, n_classes],  # prices, and the most that a pair is worth beyond them
            A_ub=[[-shares[x], -shares[y], -1.0] for x, y in pairs],
            b_ub=[-table[x, y] for x, y in pairs],
            bounds=[(0, None), (0, None), (0, None)],
        )
        a, b, _ = found.x
        beyond = table - a * shares[:, None] - b * shares
        worst = np.unravel_index(beyond.argmax(), beyond.shape)
        best = min(best, a + b + n_classes * max(0.0, float(beyond[worst])))
        if found.fun >= best * (1 - 1e-6):
            break
        pairs.append((int(worst[0]), int(worst[1])))
    return float(best + n_classes * ROUNDING)


def step_for(epsilon: float, found: Callable[[float], float], highest: float) -> float:
    """The largest step, up to about 1e-6 of itself, whose loss is no more than epsilon."""
    low, high = 0.0, highest
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if found(middle) <= epsilon else (low, middle)
    return low
