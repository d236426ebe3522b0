"""Rows of repeated-query curves: errors beside theory, and how often chance alone would part them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.audit.curves import QUERIES, REPEATS
from privee.defenses.rank_noise import RankNoise
from privee.paper.repeated_estimates import chance_of_as_many, chance_of_miss, errors_after
from privee.paper.results import Row, Value, mean_interval
from privee.randomness import seeded
from privee.theory import expected_error, rate

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
