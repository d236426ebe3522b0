"""What ciphertexts give away that can be compared across vectors: nearly the scores themselves.

The ciphertexts of all vectors, ranked together, are the scores up to one unknown rising function f of that rank. Each
vector says that its scores sum to one: sum_j f(rank_ij) = 1, one linear equation in f. With f piecewise linear this is
least squares with steps that must not be negative. The lowest score of all is taken to be zero (without such an anchor
a constant f would do); where the equations leave f open (two classes), it is that of the flat prior.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEWEST_ROWS = 8
"""Below that, equations are too few for more than each vector's own ranking."""
MOST_ROWS = 4000
PRIOR_WEIGHT = 0.01


def fit_scores(rows: Array) -> Array:
    """Scores of (n, K) rows whose entries can be compared across rows."""
    ranks = _pooled_ranks(rows)
    knots = _knots(rows.size)
    equations = ranks[:: -(-len(ranks) // MOST_ROWS)]
    heights = np.concatenate([[0.0], np.cumsum(_steps(equations, knots))])
    found = np.interp(ranks, knots, heights) + np.finfo(np.float64).tiny  # above zero, also for a row of lowest scores
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _pooled_ranks(rows: Array) -> Array:
    """Each entry's place among all entries, between 0 and 1."""
    ranks = np.empty(rows.size)
    ranks[np.argsort(rows, axis=None, kind="stable")] = (np.arange(rows.size) + 0.5) / rows.size
    return ranks.reshape(rows.shape)


def _knots(entries: int) -> Array:
    """A coarse grid, and ever finer steps towards the top, where scores rise most."""
    towards_top = 1 - np.geomspace(1.0, 1 / entries, 41)
    return np.unique(np.concatenate([np.linspace(0, 1, 11), towards_top]))


def _steps(ranks: Array, knots: Array) -> Array:
    """Heights of the steps between knots, none of them negative, that make rows sum to one."""
    from scipy.optimize import nnls  # here, so that importing privee stays fast

    width = np.diff(knots)
    sums = [np.clip((ranks - left) / w, 0.0, 1.0).sum(axis=1) for left, w in zip(knots[:-1], width, strict=True)]
    prior = np.diff(1 - (1 - knots) ** (1 / (ranks.shape[1] - 1)))  # quantiles of one score under the flat prior
    weight = PRIOR_WEIGHT / np.sqrt(prior)
    matrix = np.concatenate([np.stack(sums, axis=1), np.diag(weight)])
    steps, _ = nnls(matrix, np.concatenate([np.ones(len(ranks)), weight * prior]), maxiter=100 * len(knots))
    return np.asarray(steps, dtype=np.float64)
