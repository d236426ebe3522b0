"""What the mean of many releases gives away: the remark after the paper's Corollary 2, as a law.

The estimator puts the mean of the draw in place of its smallest value: (mean over queries of p_j, + 2/K) divided by
the middle factor. Its error is c sigma w / (1 + sigma M) times (a mean of T uniform variables - 1/2), so with the rate
kappa of the *midrange* estimator (`rate(..., "midrange")`) its root mean square is 1 / (kappa sqrt(3 T)): it falls
with the root of T, where minimum and midrange fall with T.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses.rank_noise import RankNoise
from privee.errors import SettingError
from privee.scores import to_rows
from privee.theory.ambiguity import by_class

Array = NDArray[np.float64]

EXACT_UP_TO = 16
"""Queries for which the law of a mean of uniform variables is summed; beyond, the normal law is within 0.0035 of it."""


def sample_mean_estimate(releases: Any, defense: RankNoise) -> Array:
    """The mean of the releases, shifted back and divided by the middle factor. `releases` is (T, K)."""
    rows, _ = to_rows(releases)
    public = defense.intervals(rows.shape[1])
    middle = by_class((public.factor_low + public.factor_high) / 2, rows[0])
    return np.asarray((rows.mean(axis=0) + public.shift) / middle)


def sample_mean_error(kappa: Any, *, queries: Any) -> Array:
    """Root mean square error after T queries, exactly 1 / (kappa sqrt(3 T)); kappa is the midrange estimator's rate."""
    return 1.0 / (np.asarray(kappa) * np.sqrt(3.0 * np.asarray(queries)))


def sample_mean_hit_probability(kappa: Any, *, tolerance: float, queries: int) -> Array:
    """How likely the mean's error is below the tolerance: the law of a mean of uniform variables (Irwin and Hall).

    Example:
        >>> float(sample_mean_hit_probability(2.0, tolerance=0.25, queries=1))
        0.5
    """
    if not tolerance > 0 or queries < 1:
        raise SettingError("tolerance must be above 0, and queries at least 1")
    reach = np.minimum(np.asarray(kappa, dtype=np.float64) * tolerance, 1.0)  # of the half width that one draw has
    if queries > EXACT_UP_TO:
        return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(reach * math.sqrt(1.5 * queries)))
    return np.asarray(1.0 - 2.0 * _sum_below(queries * (1.0 - reach) / 2.0, queries))  # the lower tail: few terms


def sample_mean_miss_bound(kappa: Any, *, tolerance: float, queries: Any) -> Array:
    """The looser bound of the remark's form (Hoeffding): the error exceeds d with at most 2 exp(-T (kappa d)^2 / 2)."""
    reach = np.asarray(kappa) * tolerance
    return np.minimum(1.0, 2.0 * np.exp(-np.asarray(queries) * reach**2 / 2.0))


def _sum_below(x: Array, count: int) -> Array:
    """P[a sum of `count` uniform variables on [0, 1] is at most x]."""
    terms = [(-1.0) ** k * math.comb(count, k) * np.maximum(np.asarray(x) - k, 0.0) ** count for k in range(count + 1)]
    return np.asarray(np.sum(terms, axis=0) / math.factorial(count))
