"""Rows of repeated-query curves: what an attacker makes of many releases of one record, beside theory.

How often chance alone would part the two says when theory may be called wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from privee.audit.task import QUERIES, REPEATS
from privee.defenses.inverse import condition_on_sum, tighten_by_sum
from privee.defenses.rank_noise import RankNoise
from privee.paper.outcomes import Row, Value, mean_interval
from privee.randomness import Draws, seeded
from privee.scores.forms import Floats
from privee.theory import by_class, expected_error, half_width, minimum_estimate, rate

Array = NDArray[np.float64]

SIMULATIONS = 20_000
"""In all, to learn how often an interval misses by chance."""


def curve_rows(
    scores: Array, chosen: RankNoise, where: dict[str, Any], estimators: Sequence[str], curves: int
) -> list[Row]:
    """One row per number of queries: errors by estimator, what theory says of the minimum, how often chance misses."""
    kappa = rate(scores, chosen)
    simulations = -(-SIMULATIONS // (curves * len(QUERIES)))
    found = []
    for queries in QUERIES.tolist():
        names = (where["dataset"], chosen.spec, queries)
        errors = _errors(scores, chosen, queries, estimators, names)
        chance = chance_of_miss(
            kappa, queries, repeats=REPEATS, simulations=simulations, draws=seeded(0, "chance of a miss", *names)
        )
        measured = {name: mean_interval(values.tolist()) for name, values in errors.items()}
        theory = float(expected_error(kappa, queries=queries).mean())
        measured |= {"theory": Value(value=theory), "chance_of_miss": Value(value=chance, count=simulations)}
        found.append(Row(where={**where, "queries": queries}, measured=measured))
    return found


def count_misses(rows: Sequence[Row]) -> tuple[int, int, float]:
    """Points whose band misses theory, points in all, and how likely so many misses are by chance."""
    points = [row.measured for row in rows if "chance_of_miss" in row.measured]
    misses = sum(not _holds(now["minimum"], now["theory"].value) for now in points)
    return misses, len(points), chance_of_as_many(misses, [now["chance_of_miss"].value for now in points])


def _errors(
    scores: Array, chosen: RankNoise, queries: int, estimators: Sequence[str], names: tuple[Any, ...]
) -> dict[str, Array]:
    """Means over records, (repetitions,) each; every record has draws of its own."""
    by_record = [
        errors_after(
            vector,
            chosen,
            queries,
            repeats=REPEATS,
            draws=seeded(0, "repeated queries", *names, k),
            estimators=estimators,
        )
        for k, vector in enumerate(scores)
    ]
    return {name: np.mean([errors[name] for errors in by_record], axis=0) for name in estimators}


def _holds(band: Value, value: float) -> bool:
    return band.low is not None and band.high is not None and band.low <= value <= band.high


def within(misses: int, count: int, p: float) -> str:
    """The finding in words."""
    return f"theory lies within {count - misses} of {count} measured 95 % bands (as many misses by chance: p = {p:.2g})"


Estimates = NDArray[np.float64]
AT_ONCE = 100_000
NEGLIGIBLE = 1e-4
"""Classes that carry less than this share of the expected error are left out of simulations."""


def minimum(releases: Floats, defense: RankNoise) -> Estimates:
    """The paper's estimator for (repetitions, queries, classes) at once."""
    return np.array([minimum_estimate(asked, defense) for asked in releases])


def likelihood(releases: Floats, defense: RankNoise) -> Estimates:
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


def mean(releases: Floats, defense: RankNoise) -> Estimates:
    """The mean of what is read from each release; some repetitions at a time, to spare memory."""
    step = max(1, AT_ONCE // releases[0].size)
    parts = (releases[k : k + step] for k in range(0, len(releases), step))
    read = (defense.estimate_scores(part.reshape(-1, part.shape[2])).reshape(part.shape) for part in parts)
    return np.concatenate([found.mean(axis=1) for found in read])


ESTIMATORS: Mapping[str, Callable[[Floats, RankNoise], Estimates]] = {
    "minimum": minimum,
    "likelihood": likelihood,
    "mean": mean,
}


def errors_after(
    vector: Estimates, defense: RankNoise, queries: int, *, repeats: int, draws: Draws, estimators: Sequence[str]
) -> dict[str, Estimates]:
    """Mean absolute error per class after that many queries, (repeats,) for each estimator; draws of its own each."""
    asked = np.tile(vector, (repeats * queries, 1))
    releases = defense.release(asked, draws=draws).reshape(repeats, queries, -1)
    return {name: np.abs(ESTIMATORS[name](releases, defense) - vector).mean(axis=1) for name in estimators}


def chance_of_miss(kappa: Estimates, queries: int, *, repeats: int, simulations: int, draws: Draws) -> float:
    """How often the 95 % interval of `repeats` measurements misses the expected error although theory holds.

    Not five percent: after many queries the error of a class is nearly exponential, and a t interval of twenty
    skewed measurements misses more often. By theory kappa times the error is the smallest of T uniform draws.
    """
    shares = 1.0 / kappa[np.isfinite(kappa)]
    shares = shares[shares > NEGLIGIBLE * shares.sum()]
    smallest = -np.expm1(-draws.exponential((simulations * repeats, len(shares))) / queries)
    errors = (smallest @ shares).reshape(simulations, repeats)
    half = half_width(errors, axis=1)
    return float((np.abs(errors.mean(axis=1) - shares.sum() / (queries + 1)) > half).mean())


def chance_of_as_many(misses: int, chances: Sequence[float]) -> float:
    """How likely so many misses or more are by chance, for independent points with these chances each.

    The binomial law with the mean chance: above the mean its tail is at least that of the true law (Hoeffding 1956).
    """
    return float(stats.binom.sf(misses - 1, len(chances), np.mean(chances)))
