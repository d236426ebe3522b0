"""Filling in scores by rank: what a release shows where no privacy budget was spent.

Nothing here sees the scores, only public numbers and values that are private already: it is post-processing, and costs
no epsilon.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from privee.defenses.discrete_laplace import GRID, weights
from privee.scores.along_rows import FEW_CLASSES, MANY_ROWS, pairwise

Array = NDArray[np.float64]

FLOOR = 1e-6
"""Share of the tail that falls evenly with rank, and the least that is left for the tail: keeps it positive."""
LEAST_LEAD = 1.02
"""The top score is at least this many times 1/K, so that there is room below it."""
GAP = 0.005
"""The second score stays below the top one by at least this share."""
PRIOR_POINTS = 257
TINY = float(np.finfo(np.float64).tiny)

DEFAULT_TAIL = 0.4


def fill_tail(top: Array, n_classes: int, tail: float, *, alone: bool = False) -> Array:
    """The K - 1 scores behind each of the (n, 1) top ones, falling: each `left ** tail` times the one before it.

    `left` is what the top score leaves. A confident model's tail falls fast, a doubtful one's slowly; 0.4 suits
    softmax outputs of 10 to 1,000 classes. `alone` makes each row as if there were no others, to the last bit.
    """
    positions, evenly = _by_position(n_classes - 1)
    if n_classes - 1 <= FEW_CLASSES and len(top) >= MANY_ROWS:  # a class at a time, all rows at once
        return _filled(top.T, tail, positions[:, None], evenly[:, None], alone, by_class=True).T
    return _filled(top, tail, positions, evenly, alone)


def _filled(top: Array, tail: float, positions: Array, evenly: Array, alone: bool, *, by_class: bool = False) -> Array:
    """Classes along rows; or, `by_class`, all arguments turned, and so what is returned."""
    left, even = 1.0 - top, 1.0 / evenly.size
    shape = np.log(left) * tail * positions
    np.exp(shape, out=shape)
    shape *= (1.0 - FLOOR) / (pairwise(list(shape)) if by_class else shape.sum(axis=1, keepdims=True))
    shape += evenly
    # Blend with equal shares as far as it takes to stay below the top score.
    room, steep = (1.0 - GAP) * top / left - even, (shape[:1] if by_class else shape[:, :1]) - even
    if (steep > room).any():
        # Others blend by nothing, which costs them a last bit: kept, because releases repeat to the last bit.
        unblended = shape.copy() if alone else None
        shape -= even
        shape *= np.minimum(room / np.maximum(steep, TINY), 1.0)
        shape += even
        shape = shape if unblended is None else np.where(steep > room, shape, unblended)
    shape *= left
    return shape


@functools.lru_cache(maxsize=64)
def top_values(n_classes: int, step: float, prior: tuple[float, float] | None) -> Array:
    """What a noisy grid value stands for: itself, or, with a prior of the top score, the mean of what it may have been.

    The prior is a Beta distribution over where the top score lies between 1/K and 1.
    """
    values = np.arange(GRID + 1) / GRID if prior is None else posterior_means(n_classes, step, prior)
    return np.clip(values, LEAST_LEAD / n_classes, 1.0 - FLOOR)


@functools.lru_cache(maxsize=8)
def _by_position(count: int) -> tuple[Array, Array]:
    """Positions in the tail, and a small share of it that falls evenly."""
    positions = np.arange(count, dtype=np.float64)
    return positions, (count - positions) * (2.0 * FLOOR / (count * (count + 1)))


@functools.lru_cache(maxsize=64)
def posterior_means(n_classes: int, step: float, prior: tuple[float, float]) -> Array:
    """Mean of the top score given each noisy grid value."""
    from scipy.stats import beta

    edges = beta.cdf(np.linspace(0, 1, PRIOR_POINTS + 1), *prior)
    points = 1 / n_classes + (1 - 1 / n_classes) * (np.arange(PRIOR_POINTS) + 0.5) / PRIOR_POINTS
    likely = noise_probabilities(np.floor(points * GRID).astype(np.int64), step) * np.diff(edges)[:, None]
    return np.asarray((points @ likely) / likely.sum(axis=0))


def noise_probabilities(values: NDArray[np.int64], step: float) -> Array:
    """Probability of every grid value (columns) after noise and clipping, for each true value (rows)."""
    falling = np.array(weights(step), dtype=np.float64) / 2.0**64
    outcomes = np.arange(GRID + 1)
    found = falling[np.abs(outcomes - values[:, None])]
    tails = falling[::-1].cumsum()[::-1]
    found[:, 0], found[:, -1] = tails[values], tails[GRID - values]
    return np.asarray(found)


def fit_tail(falling: Array) -> float:
    """The tail setting that moves given scores (sorted, falling) least: learned from public scores or one's own."""
    top = np.clip(falling[:, :1], LEAST_LEAD / falling.shape[1], 1.0 - FLOOR)
    candidates = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5]
    moved = [np.abs(fill_tail(top, falling.shape[1], tail) - falling[:, 1:]).sum() for tail in candidates]
    return candidates[int(np.argmin(moved))]


def fit_prior(falling: Array) -> tuple[float, float]:
    """A Beta distribution of the top score, by its mean and variance."""
    where = (falling[:, 0] - 1 / falling.shape[1]) / (1 - 1 / falling.shape[1])
    mean, variance = float(np.clip(where.mean(), 0.01, 0.99)), max(float(where.var()), 1e-4)
    strength = max(mean * (1 - mean) / variance - 1, 0.1)
    return round(mean * strength, 4), round((1 - mean) * strength, 4)
