"""How large an attack's confidence residual can get: what no printed figure of that kind can exceed.

For one record the residual is the mean over K classes of (s_j - p_j)^2: the scores s that the model gives for the
columns an attack found, against the release p_j = c_j f_j - 2/K with a factor f_j from a known interval. Whatever the
scores c, the draws and the attack, s and c are probability vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privee.defenses.rank_noise import RankNoise

Array = NDArray[np.float64]


def largest_residual(defense: RankNoise, n_classes: int, *, mean_over_draws: bool = False) -> float:
    """The largest confidence residual of any scores, any attack and any draws, or of their mean over the draws.

    The residual is convex in c and s together, so it is largest at corners: c shares one among the first m classes
    of the ranking, s puts all on one class. In each factor it is convex as well: largest at an end of its interval.
    """
    return max(_at_corner(defense, n_classes, first, mean_over_draws) for first in range(1, n_classes + 1))


def largest_undefended(n_classes: int) -> float:
    """Without a defense: two probability vectors are at most sqrt(2) apart."""
    return 2.0 / n_classes


def confident_residual(defense: RankNoise, n_classes: int) -> float:
    """Its mean over draws where the model is sure of one class and the attack's columns give the same scores."""
    sure = np.eye(n_classes)[0]
    return float(_terms(defense, n_classes, sure, sure, mean_over_draws=True).mean())


def _at_corner(defense: RankNoise, n_classes: int, first: int, mean_over_draws: bool) -> float:
    scores = np.where(np.arange(n_classes) < first, 1.0 / first, 0.0)
    without, with_all = (
        _terms(defense, n_classes, scores, np.full(n_classes, guess), mean_over_draws=mean_over_draws)
        for guess in (0.0, 1.0)
    )
    return float((without.sum() + (with_all - without).max()) / n_classes)


def _terms(defense: RankNoise, n_classes: int, scores: Array, guess: Array, *, mean_over_draws: bool) -> Array:
    """(s_j - p_j)^2 by rank position: the largest over the interval of the draw, or the mean."""
    public = defense.intervals(n_classes)
    ends = [(guess + public.shift - scores * factor) for factor in (public.factor_low, public.factor_high)]
    if not mean_over_draws:
        return np.maximum(*(end**2 for end in ends))
    return np.asarray((ends[0] ** 2 + ends[0] * ends[1] + ends[1] ** 2) / 3)  # the mean square of a uniform variable
