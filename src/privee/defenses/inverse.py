"""What an attacker who knows a defense computes: estimates that use the constraints scores obey."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CONCENTRATIONS = {1.0: 0.8, 0.1: 0.2}
"""Of Dirichlet priors, and how likely each is: mostly flat, as estimates assume elsewhere, or a confident model's."""


def project_to_simplex(rows: Array) -> Array:
    """The nearest probability vector (Euclidean) to each row: the most likely scores under Gaussian noise."""
    falling = -np.sort(-rows, axis=1)
    excess = np.cumsum(falling, axis=1) - 1.0
    counts = np.arange(1, rows.shape[1] + 1)
    support = (falling * counts > excess).sum(axis=1)
    shift = np.take_along_axis(excess, support[:, None] - 1, axis=1) / support[:, None]
    return np.asarray(np.maximum(rows - shift, 0.0))


def condition_on_sum(mean: Array, variance: Array, low: Array, high: Array, total: float = 1.0) -> Array:
    """Independent guesses with known intervals, corrected by the knowledge of what they sum to.

    Minimises sum((c - mean)**2 / variance) subject to low <= c <= high and sum(c) = total, for every row. The answer
    is clip(mean + t * variance, low, high); the t that meets the sum is found exactly among the points where some
    coordinate reaches an end of its interval. If the intervals cannot reach the total, the nearest ends are taken.
    """
    spread = np.maximum(variance, np.finfo(np.float64).tiny)
    knots = np.concatenate([(low - mean) / spread, (high - mean) / spread], axis=1)
    order = np.argsort(knots, axis=1)
    knots = np.take_along_axis(knots, order, axis=1)
    slopes = np.take_along_axis(np.concatenate([spread, -spread], axis=1), order, axis=1).cumsum(axis=1)
    gains = np.maximum(slopes[:, :-1], 0.0) * np.diff(knots, axis=1)
    sums = low.sum(axis=1, keepdims=True) + np.concatenate([np.zeros_like(knots[:, :1]), gains.cumsum(axis=1)], axis=1)
    t = _where_line_reaches(knots, sums, total)
    return np.clip(mean + t * spread, low, high)


def tighten_by_sum(low: Array, high: Array, total: float = 1.0) -> tuple[Array, Array]:
    """Narrow intervals of numbers that sum to `total`: each is what the others can leave of it."""
    least = total - (high.sum(axis=1, keepdims=True) - high)
    most = total - (low.sum(axis=1, keepdims=True) - low)
    # Rounding in a release can make the intervals miss the total by a hair: then keep them as they are.
    narrow_low, narrow_high = np.maximum(low, least), np.minimum(high, most)
    possible = narrow_low <= narrow_high
    return np.where(possible, narrow_low, low), np.where(possible, narrow_high, high)


def _where_line_reaches(knots: Array, sums: Array, total: float) -> Array:
    """Invert a rising piecewise linear function, row by row, by linear interpolation."""
    last = knots.shape[1] - 1
    right = np.clip((sums < total).sum(axis=1, keepdims=True), 1, last)
    x0, x1 = (np.take_along_axis(knots, right - d, axis=1) for d in (1, 0))
    y0, y1 = (np.take_along_axis(sums, right - d, axis=1) for d in (1, 0))
    share = np.divide(total - y0, y1 - y0, out=np.zeros_like(y0), where=y1 > y0)
    return x0 + np.clip(share, 0.0, 1.0) * (x1 - x0)
