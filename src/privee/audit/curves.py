"""The paper's repeated-query experiment: what T releases of a record give away, measured and by theory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privee.audit.results import Curve
from privee.defenses import PriveeU
from privee.randomness import seeded
from privee.theory import expected_error, half_width, minimum_estimate, rate

Array = NDArray[np.float64]

RHOS = (0.1, 0.3, 0.5, 0.7)
QUERIES = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
REPEATS = 20
RECORDS = 10


def repeated_query_curves(
    subject: str, scores: Array, rhos: Sequence[float] = RHOS, seed: int = 0
) -> tuple[Curve, ...]:
    """Mean absolute error per class of the minimum estimator on PRIVEE-U, over records; bands over repetitions."""
    return tuple(_curve(subject, scores[:RECORDS], rho, seed) for rho in rhos)


def _curve(subject: str, scores: Array, rho: float, seed: int) -> Curve:
    defense = PriveeU(rho=rho)
    errors = np.mean([_errors(vector, defense, seed, k) for k, vector in enumerate(scores)], axis=0)
    mean, half = errors.mean(axis=0), half_width(errors)
    theory = np.mean(
        [expected_error(rate(vector, defense)[:, None], queries=QUERIES).mean(axis=0) for vector in scores], axis=0
    )
    low, high = mean - half, mean + half
    lists = (tuple(values.tolist()) for values in (QUERIES, mean, low, high, theory))
    return Curve(
        subject=subject, rho=rho, **dict(zip(("queries", "mean", "low", "high", "theory"), lists, strict=True))
    )


def _errors(vector: Array, defense: PriveeU, seed: int, record: int) -> Array:
    """By repetition and number of queries."""
    most = int(QUERIES[-1])
    draws = seeded(seed, "repeated", defense.spec, record)
    releases = defense.release(np.tile(vector, (REPEATS * most, 1)), draws=draws).reshape(REPEATS, most, -1)
    lowest = np.minimum.accumulate(releases, axis=1)[:, QUERIES - 1]
    # What the smallest of some releases gives is what these releases give.
    estimates = np.array([[minimum_estimate(one[None], defense) for one in by_count] for by_count in lowest])
    return np.asarray(np.abs(estimates - vector).mean(axis=2))
