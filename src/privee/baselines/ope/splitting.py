"""The draw behind order-preserving encryption: of `points` places taken at random out of 2 * half, how many are low?

That number is hypergeometric. Both halves are equal, so with a = points / 2, b = half - a and x = a + d the probability
P(x) is symmetric in d, and (Loader's saddle point form)

    log P(x) = - a g(d / a) - b g(d / b) + (rests of Stirling's formula, see `stirling_rest`),
    g(t) = (1 + t) log(1 + t) + (1 - t) log(1 - t),

in which nothing large cancels: exact to some 1e-14 for ranges of 2**50, where gamma functions have no digit left.

Few points are drawn by inversion. Many are drawn by rejection from a normal distribution, which is exact, because

    P(d + 1) / P(d) = exp(- 2 atanh(u / (a + 1/2)) - 2 atanh(u / (b + 1/2))),   u = d + 1/2,

and atanh(t) >= t for t >= 0. Summed from the mode d0 (0 or 1/2) on, P(d) <= P(d0) exp(- c (d**2 - d0**2)) with
c = 1 / (a + 1/2) + 1 / (b + 1/2). A normal density of variance (1 + e) / 2c, times exp(c / 4e + c d0**2), stays above
that over the whole unit cell of d; e = sqrt(c / 2) is best, and from a few hundred points on few draws are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = Callable[[Integers, int], NDArray[np.uint64]]
"""(which nodes, which attempt) -> two random 64-bit words for each of these nodes, (nodes, 2)."""

INVERT_UP_TO = 16
_TABLE = np.array([0.0] + [math.lgamma(n + 1) - n * math.log(n) + n for n in range(1, 17)])


def lower_counts(points: Integers, half: int, words: Words) -> Integers:
    """Draw, for every node, how many of its points lie in the lower one of two halves of `half` places."""
    # Taken and free places play the same part: draw for the fewer of them.
    few = np.minimum(points, 2 * half - points)
    drawn = np.zeros_like(few)
    small, large = np.flatnonzero(few <= INVERT_UP_TO), np.flatnonzero(few > INVERT_UP_TO)
    if small.size:
        drawn[small] = _by_inversion(few[small], half, words(small, 0)[:, 0])
    if large.size:
        drawn[large] = _by_rejection(few[large], half, lambda which, attempt: words(large[which], attempt))
    return np.where(few == points, drawn, half - drawn)


def log_probability(lower: Integers, points: Integers, half: int) -> Array:
    """Log of the probability that `lower` of the points (at most half of all places) lie in the lower half."""
    rest = stirling_rest
    whole = 2 * rest(np.array(half)) - rest(np.array(2 * half))
    return np.asarray(_log_weight(lower, points, half) + rest(points) + rest(2 * half - points) + whole)


def stirling_rest(n: Integers) -> Array:
    """log(n!) - n log(n) + n: small (half a logarithm of n), so that sums of it keep their digits."""
    large = np.maximum(n, 16).astype(np.float64)
    square = 1 / (large * large)
    series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    return np.where(n <= 16, _TABLE[np.minimum(n, 16)], 0.5 * np.log(2 * math.pi * large) + series / large)


def _log_weight(lower: Integers, points: Integers, half: int) -> Array:
    """`log_probability` but for what does not depend on `lower`."""
    a = points / 2
    b = half - a
    d = lower - a
    rests = stirling_rest(np.stack([lower, points - lower, half - lower, half - points + lower]))
    return np.asarray(-a * _g(d / a) - b * _g(d / b) - rests.sum(axis=0))


def _g(t: Array) -> Array:
    """(1 + t) log(1 + t) + (1 - t) log(1 - t), about t**2; at the ends 2 log 2."""
    inside = np.clip(t, -1 + 2.0**-53, 1 - 2.0**-53)
    return np.where(np.abs(t) < 1, 2 * inside * np.arctanh(inside) + np.log1p(-inside * inside), 2 * math.log(2))


def _by_inversion(points: Integers, half: int, words: NDArray[np.uint64]) -> Integers:
    """Add up probabilities of 0, 1, ... until they pass a uniform number."""
    uniform = (words >> np.uint64(11)) * 2.0**-53
    steps = np.arange(max(1, int(points.max())))
    left = points[:, None] - steps
    none_lower = np.cumprod(np.where(left > 0, (half - steps) / (2 * half - steps), 1.0), axis=1)[:, -1:]
    ratios = np.maximum(left, 0) * ((half - steps) / (steps + 1)) / np.maximum(half + 1 - left, 1)
    ratios[:, 1:], ratios[:, 0] = ratios[:, :-1].copy(), 1.0
    below = np.cumsum(np.cumprod(ratios, axis=1) * none_lower, axis=1)
    return np.asarray(np.minimum(np.count_nonzero(uniform[:, None] >= below, axis=1), points))


def _by_rejection(points: Integers, half: int, words: Words) -> Integers:
    """Try normal numbers until each node has taken one (see the top of this file)."""
    from scipy.special import ndtri  # here, so that importing privee stays fast

    found, pending, attempt = np.empty_like(points), np.arange(len(points)), 0
    while pending.size:
        n = points[pending]
        uniform = (words(pending, attempt) >> np.uint64(11)) * 2.0**-53 + 2.0**-54
        c = 1 / (n / 2 + 0.5) + 1 / (half - n / 2 + 0.5)
        extra, normal = np.sqrt(c / 2), ndtri(uniform[:, 0])
        lower = np.floor(n / 2 + np.sqrt((1 + extra) / (2 * c)) * normal + 0.5).astype(np.int64)
        needed = np.log(uniform[:, 1]) - normal * normal / 2 + c / (4 * extra) + c * (n % 2) / 4
        taken = (lower >= 0) & (lower <= n)
        taken[taken] = _reaches(needed[taken], lower[taken], n[taken], half)
        found[pending[taken]] = lower[taken]
        pending, attempt = pending[~taken], attempt + 1
    return found


def _reaches(needed: Array, lower: Integers, points: Integers, half: int) -> NDArray[np.bool_]:
    """Is log(P(lower) / P(mode)) as high as needed? Bounds decide nearly always.

    The upper one is that of the proof; the lower one is atanh(t) <= t + t**3 / 3(1 - t**2), summed likewise.
    """
    a, b = points / 2 + 0.5, half - points / 2 + 0.5
    square = (lower - points / 2) ** 2
    above = (1 / a + 1 / b) * ((points % 2) / 4 - square)
    below = above - square * square / 6 * (1 / a**3 + 1 / b**3) / (1 - square / (a * a))
    reached: NDArray[np.bool_] = needed <= below
    open_ = np.flatnonzero(~reached & (needed <= above))
    if open_.size:
        n = points[open_]
        exact = _log_weight(lower[open_], n, half) - _log_weight(n // 2, n, half)
        reached[open_] = needed[open_] <= exact
    return reached
