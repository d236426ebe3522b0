"""How much of the structure between records a release keeps: distances, inner products, correlations of classes.

The paper leaves "structured perturbation" to future work. A release that keeps each record's ranking may still move
records against each other, which is what clustering, nearest neighbours and kernels look at.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import ScoreError
from privee.scores.forms import to_rows
from privee.scores.validation import check_release

Array = NDArray[np.float64]
STRUCTURE_ROWS = 500
"""Records whose pairs are compared, spread evenly over those given."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Structure:
    """What is left of it: 1 all, 0 none.

    Attributes:
        distances: Pearson's correlation of the Euclidean distances of all pairs of records, before and after.
        distance_order: Spearman's of the same: are near records still the near ones?
        inner_products: Pearson's of the inner products of all pairs.
        correlations: one minus half the mean gap between the correlations of all pairs of classes, before and after.
    """

    distances: float
    distance_order: float
    inner_products: float
    correlations: float


def structure_kept(scores: Any, release: Any) -> Structure:
    """Compare a release with the scores it stands for. What does not vary at all keeps nothing.

    Example:
        >>> structure_kept([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5]], [[0.7, 0.3], [0.55, 0.45], [0.5, 0.5]]).distances
        1.0
    """
    before, after = (_some(rows) for rows in (scores, release))
    if before.shape != after.shape:
        raise ScoreError(f"scores have shape {before.shape}, the release {after.shape}; they must be alike")
    if len(before) < 3:
        raise ScoreError(f"structure lies between records: 3 or more are needed, got {len(before)}")
    pairs = np.triu_indices(len(before), k=1)
    near, later = _distances(before, pairs), _distances(after, pairs)
    return Structure(
        distances=correlation(near, later),
        distance_order=correlation(_ranks(near), _ranks(later)),
        inner_products=correlation((before @ before.T)[pairs], (after @ after.T)[pairs]),
        correlations=1.0 - float(np.abs(_class_correlations(before) - _class_correlations(after)).mean()) / 2,
    )


def correlation(one: Array, other: Array) -> float:
    """Pearson's, and 0 where one of them does not vary."""
    a, b = one - one.mean(), other - other.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    # What rounding alone makes vary does not vary.
    still = min(np.ptp(one), np.ptp(other)) <= 1e-12 * max(1.0, float(np.abs(other).max()))
    return 0.0 if still or size == 0 else float(np.clip(round(float(a @ b) / size, 12), -1.0, 1.0))


def _some(rows: Any) -> Array:
    values, _ = to_rows(rows)
    check_release(values)
    few = np.linspace(0, max(0, len(values) - 1), min(len(values), STRUCTURE_ROWS)).astype(np.intp)
    return values[few].astype(np.float64)


def _distances(rows: Array, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]) -> Array:
    first, second = pairs
    return np.asarray(np.sqrt(np.square(rows[first] - rows[second]).sum(axis=1)))


def _ranks(values: Array) -> Array:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)


def _class_correlations(rows: Array) -> Array:
    """Of every pair of classes over records; a class whose numbers never change goes with none."""
    centred = rows - rows.mean(axis=0)
    spread = np.sqrt(np.square(centred).sum(axis=0))
    still = spread <= 1e-12 * max(1.0, float(np.abs(rows).max()))
    scaled = centred / np.where(still, 1.0, spread) * ~still
    return np.asarray((scaled.T @ scaled)[np.triu_indices(rows.shape[1], k=1)])
