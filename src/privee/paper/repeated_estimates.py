"""What an attacker makes of many releases of one record, how far off it is, and when theory may be called wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from privee.defenses.inverse import condition_on_sum, tighten_by_sum
from privee.defenses.rank_noise import RankNoise
from privee.randomness import Draws
from privee.scores.forms import Floats
from privee.theory import by_class

Array = NDArray[np.float64]
AT_ONCE = 100_000
NEGLIGIBLE = 1e-4
"""Classes that carry less than this share of the expected error are left out of simulations."""


def minimum(releases: Floats, defense: RankNoise) -> Array:
    """The paper's estimator (see privee.theory.minimum_estimate), for (repetitions, queries, classes) at once."""
    public = defense.intervals(releases.shape[2])
    return np.asarray((releases.min(axis=1) + public.shift) / by_class(public.factor_low, releases[:, 0]))


def likelihood(releases: Floats, defense: RankNoise) -> Array:
    """What lies in the intervals of all releases and sums to one; the smallest and the largest release settle it."""
    public, ranked = defense.intervals(releases.shape[2]), releases[:, 0]
    smallest, largest = (
        np.maximum(np.asarray(ends, dtype=np.float64) + public.shift, 0.0)
        for ends in (releases.min(axis=1), releases.max(axis=1))
    )
    low, high = largest / by_class(public.factor_high, ranked), smallest / by_class(public.factor_low, ranked)
    crossed = low > high  # by rounding only
    low, high = np.where(crossed, (low + high) / 2, low), np.where(crossed, (low + high) / 2, high)
    low, high = tighten_by_sum(low, high)
    return condition_on_sum((low + high) / 2, (high - low) ** 2 / 12, low, high)


def mean(releases: Floats, defense: RankNoise) -> Array:
    """The mean of what is read from each release; some repetitions at a time, to spare memory."""
    step = max(1, AT_ONCE // releases[0].size)
    parts = (releases[k : k + step] for k in range(0, len(releases), step))
    read = (defense.estimate_scores(part.reshape(-1, part.shape[2])).reshape(part.shape) for part in parts)
    return np.concatenate([found.mean(axis=1) for found in read])


ESTIMATORS: Mapping[str, Callable[[Floats, RankNoise], Array]] = {
    "minimum": minimum,
    "likelihood": likelihood,
    "mean": mean,
}


def errors_after(
    vector: Array, defense: RankNoise, queries: int, *, repeats: int, draws: Draws, estimators: Sequence[str]
) -> dict[str, Array]:
    """Mean absolute error per class after that many queries, (repeats,) for each estimator; draws of its own each."""
    asked = np.tile(vector, (repeats * queries, 1))
    releases = defense.release(asked, draws=draws).reshape(repeats, queries, -1)
    return {name: np.abs(ESTIMATORS[name](releases, defense) - vector).mean(axis=1) for name in estimators}


def chance_of_miss(kappa: Array, queries: int, *, repeats: int, simulations: int, draws: Draws) -> float:
    """How often the 95 % interval of `repeats` measurements misses the expected error although theory holds.

    Not five percent: after many queries the error of a class is nearly exponential, and a t interval of twenty
    skewed measurements misses more often. By theory kappa times the error is the smallest of T uniform draws.
    """
    shares = 1.0 / kappa[np.isfinite(kappa)]
    shares = shares[shares > NEGLIGIBLE * shares.sum()]
    smallest = -np.expm1(-draws.exponential((simulations * repeats, len(shares))) / queries)
    errors = (smallest @ shares).reshape(simulations, repeats)
    half = stats.t.ppf(0.975, repeats - 1) * errors.std(axis=1, ddof=1) / np.sqrt(repeats)
    return float((np.abs(errors.mean(axis=1) - shares.sum() / (queries + 1)) > half).mean())


def chance_of_as_many(misses: int, chances: Sequence[float]) -> float:
    """How likely so many misses or more are by chance, for independent points with these chances each.

    The binomial law with the mean chance: above the mean its tail is at least that of the true law (Hoeffding 1956).
    """
    return float(stats.binom.sf(misses - 1, len(chances), np.mean(chances)))
