"""The demo's numbers, on scikit-learn's bundled digits: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses import Defense, PriveeU
from privee.randomness import seeded
from privee.theory import by_class, expected_error, rate, rows_in_order

Array = NDArray[np.float64]

QUERIES = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
REPEATS = 20


class Row(NamedTuple):
    """One defense on many records; errors are mean absolute, per class."""

    spec: str
    ranking_kept: float
    label_kept: float
    l1_moved: float
    naive_error: float
    adaptive_error: float


class Curve(NamedTuple):
    """Error of the repeated-query attack by number of queries: mean and 95 % band, and theory."""

    rho: float
    queries: NDArray[np.int64]
    mean: Array
    low: Array
    high: Array
    theory: Array


def digit_scores(seed: int = 0) -> tuple[Array, float]:
    """Scores of a logistic model on held-out digits, and its accuracy.

    The model's logits are sums of one part per pixel, so it is also the joint model of two parties who hold half of
    the pixels each.
    """
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x / 16.0, y, test_size=0.5, random_state=seed, stratify=y)
    model = LogisticRegression(fit_intercept=False, max_iter=1000).fit(x_train, y_train)
    return model.predict_proba(x_test), float(model.score(x_test, y_test))


def compare_defenses(scores: Array, defenses: Sequence[Defense], seed: int = 0) -> list[Row]:
    """Release the same scores with every defense, and try to undo it."""
    return [_row(scores, defense, seed) for defense in defenses]


def _row(scores: Array, defense: Defense, seed: int) -> Row:
    release = defense.release(scores, draws=seeded(seed, defense.spec))
    return Row(
        spec=defense.spec,
        ranking_kept=float(rows_in_order(scores, release).mean()),
        label_kept=float((release.argmax(axis=1) == scores.argmax(axis=1)).mean()),
        l1_moved=float(np.abs(release - scores).sum(axis=1).mean()),
        naive_error=float(np.abs(release - scores).mean()),
        adaptive_error=float(np.abs(defense.estimate_scores(release) - scores).mean()),
    )


def repeated_query_curves(vector: Array, rhos: Sequence[float] = (0.1, 0.3, 0.5, 0.7), seed: int = 0) -> list[Curve]:
    """The paper's repeated-query experiment on one score vector: minimum estimator, 20 repetitions, theory beside."""
    return [_curve(vector, rho, seed) for rho in rhos]


def _curve(vector: Array, rho: float, seed: int) -> Curve:
    defense, most = PriveeU(rho=rho), int(QUERIES[-1])
    draws = seeded(seed, "repeated", str(rho))
    releases = defense.release(np.tile(vector, (REPEATS * most, 1)), draws=draws).reshape(REPEATS, most, -1)
    lowest = np.minimum.accumulate(releases, axis=1)[:, QUERIES - 1]
    # The smallest release over the smallest factor, see privee.theory.minimum_estimate.
    public = defense.intervals(len(vector))
    errors = np.abs((lowest + public.shift) / by_class(public.factor_low, vector) - vector).mean(axis=2)
    mean, half = errors.mean(axis=0), 1.96 * errors.std(axis=0, ddof=1) / np.sqrt(REPEATS)
    theory = expected_error(rate(vector, defense)[:, None], queries=QUERIES).mean(axis=0)
    return Curve(rho, QUERIES, mean, mean - half, mean + half, theory)
