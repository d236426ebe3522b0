"""What many releases of the same scores give away (paper, appendix A, part 4), for PRIVEE-U and PRIVEE-U+.

Everything follows from one number per class, its `rate` kappa: the estimate's error is at most 1/kappa after one
query, 1/(kappa (T + 1)) on average after T, and below d with probability 1 - (1 - kappa d)^T.

Two estimators are covered. The paper's takes the *minimum* of the T releases and divides by the smallest factor. It
calls that the binding case, but the *midrange* (half of minimum plus maximum, divided by the middle factor) obeys the
same law with about twice the rate, so it needs half the queries. Budgets should be set against it.

PRIVEE-U+ is left open in the paper. The argument carries over word for word: it looks at one class at a time, and
uses only that its draw is uniform on a known interval and enters through a known factor 1 + sigma u. So sigma becomes
that of the rank position, and nothing else changes.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privee.defenses.rank_noise import RankNoise
from privee.errors import SettingError
from privee.scores import to_rows
from privee.theory.ambiguity import by_class

Array = NDArray[np.float64]
Estimator = Literal["minimum", "midrange"]

LARGEST_BUDGET = 2**53


def minimum_estimate(releases: Any, defense: RankNoise) -> Array:
    """The paper's estimator: (min over queries of p_j, + 2/K) / (1 + sigma L_j). `releases` is (T, K)."""
    rows, _ = to_rows(releases)
    public = defense.intervals(rows.shape[1])
    return np.asarray((rows.min(axis=0) + public.shift) / by_class(public.factor_low, rows[0]))


def midrange_estimate(releases: Any, defense: RankNoise) -> Array:
    """Half of the smallest plus the largest release, divided by the middle factor. `releases` is (T, K)."""
    rows, _ = to_rows(releases)
    public = defense.intervals(rows.shape[1])
    middle = by_class((public.factor_low + public.factor_high) / 2, rows[0])
    return np.asarray(((rows.min(axis=0) + rows.max(axis=0)) / 2 + public.shift) / middle)


def relative_rate(defense: RankNoise, n_classes: int, estimator: Estimator = "minimum") -> Array:
    """Kappa times the score, by rank position (leading class first): the rate for errors relative to the score.

    It needs no scores, so a budget against "within one percent of the score" can be fixed in advance.
    """
    public = defense.intervals(n_classes)
    spread = public.factor_high - public.factor_low
    if estimator == "minimum":
        return public.factor_low / spread
    if estimator == "midrange":
        return (public.factor_low + public.factor_high) / spread
    raise SettingError(f"estimator must be minimum or midrange, got {estimator!r}")


def rate(scores: Any, defense: RankNoise, estimator: Estimator = "minimum") -> Array:
    """The convergence rate kappa of every class, in the form of the scores.

    Minimum: kappa_j = (1 + sigma L_j) / (c_j sigma w) with w the width of the draw's interval (1/K as published), for
    the error c_hat - c, which is never negative. Midrange: twice that with the middle of the interval in place of
    L_j, for the absolute error. A score of zero has an infinite rate: every release gives it away.
    """
    rows, form = to_rows(scores)
    with np.errstate(divide="ignore"):
        kappa = by_class(relative_rate(defense, rows.shape[1], estimator), rows) / rows
    return np.asarray(kappa[0] if form.one_vector else kappa)


def hit_probability(kappa: Any, *, tolerance: float, queries: Any) -> Array:
    """Theorem 4 (exact): the error after T queries is below the tolerance d with probability 1 - (1 - kappa d)^T."""
    reach, count = np.asarray(kappa) * tolerance, np.asarray(queries)
    sure = reach >= 1.0
    law = -np.expm1(count * np.log1p(-np.where(sure, 0.0, reach)))
    return np.asarray(np.where(sure, np.sign(count), law))


def expected_error(kappa: Any, *, queries: Any) -> Array:
    """Mean absolute error after T queries: 1 / (kappa (T + 1)), that is c sigma / (K (1 + sigma L) (T + 1))."""
    return 1.0 / (np.asarray(kappa) * (np.asarray(queries) + 1.0))


def query_budget(kappa: Any, *, tolerance: float, probability: float) -> NDArray[np.int64]:
    """Corollary 2: the largest T with P[error < tolerance] <= probability, log(1 - p) / log(1 - kappa d) rounded down.

    Zero means that even one query exceeds it. A class whose score is small against the tolerance always gets zero:
    its interval is narrower than the tolerance, so that budget says nothing about secrets. Judge the leading classes.
    """
    if not tolerance > 0 or not 0 < probability < 1:
        raise SettingError("tolerance must be above 0 and probability between 0 and 1")
    reach = np.minimum(np.asarray(kappa, dtype=np.float64) * tolerance, 1.0)
    with np.errstate(divide="ignore"):
        exact = np.minimum(np.log1p(-probability) / np.log1p(-reach), LARGEST_BUDGET)
    budget = np.floor(exact).astype(np.int64)
    # The quotient of two rounded logarithms can fall a hair short of a whole number: ask the law about the next one.
    one_more = hit_probability(reach, tolerance=1.0, queries=budget + 1) <= probability * (1 + 1e-12)
    return np.asarray(budget + one_more)


def smallest_budget(
    scores: Any, defense: RankNoise, *, tolerance: float, probability: float, estimator: Estimator = "minimum"
) -> int:
    """The smallest budget over the classes: what keeps every class of these scores above the tolerance."""
    return int(query_budget(rate(scores, defense, estimator), tolerance=tolerance, probability=probability).min())
