"""What the release keeps: order exactly, distances and correlations within bounds (paper, appendix A, parts 1 and 2).

The bounds compare A_pert x with x for *one* realisation of the draws. A defense draws afresh for every record, so
they do not bound the distance between two releases: the same scores released twice are some distance apart. They
say how much a single matrix can stretch, no more. All bounds take sigma times `draw_range`, the largest value a
diagonal entry can gain; for PRIVEE-U+ that is the sigma of the leading class.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses.rank_noise import Transform
from privee.scores import ranking, to_rows

Array = NDArray[np.float64]


def apply_transform(rows: Array, transform: Transform = "householder") -> Array:
    """Lemma 1: an orthonormal A keeps distances and inner products, so also (uncentred) correlations.

    A = I, or A = I - (2/K) 1 1^T, applied without building it. Correlation means the normalised inner product here.
    The usual, centred one is kept as well by these two matrices (the second only flips the sign of the mean), but not
    by orthonormal matrices in general. A is public and A A = I, so on its own it hides nothing.
    """
    if transform == "identity":
        return rows
    return np.asarray(rows - 2.0 / rows.shape[-1] * rows.sum(axis=-1, keepdims=True))


def order_is_kept(scores: Any, release: Any) -> bool:
    """Lemma 2: the release has the ranking of the scores, and c_i > c_j gives p_i > p_j, in every row.

    It holds with probability one in real numbers; privee's releases keep it always, in floating point. This checks it
    on given arrays, see `rows_in_order`.
    """
    return bool(rows_in_order(scores, release).all())


def rows_in_order(scores: Any, release: Any) -> NDArray[np.bool_]:
    """Which rows of a release keep the order of the scores.

    Walking down the scores' ranking, the release must fall; it may stay level only between equal scores, which the
    ranking lists by class index.
    """
    before, after = to_rows(scores)[0], to_rows(release)[0]
    order = ranking(before)
    c, p = np.take_along_axis(before, order, axis=1), np.take_along_axis(after, order, axis=1)
    level = (p[:, :-1] == p[:, 1:]) & (c[:, :-1] == c[:, 1:])
    return np.asarray(((p[:, :-1] > p[:, 1:]) | level).all(axis=1))


def schedule_keeps_order(sigma_by_rank: Array) -> bool:
    """Remark on PRIVEE-U+: order is kept if sigma never rises from the leading class down.

    Then u_i sigma_i > u_j sigma_j whenever c_i > c_j, and the proof of Lemma 2 goes through unchanged.
    """
    return bool(np.all(np.diff(sigma_by_rank) <= 0))


def operator_norm_bound(sigma: float, draw_range: float = 1.0) -> float:
    """Lemma 3: the spectral norm of A_pert^T A_pert - I is at most e(s) = 2 s + s^2, with s = sigma * draw_range.

    Always, not only with high probability, because the draws are bounded. For A = I it is nearly reached.
    """
    strength = sigma * draw_range
    return 2.0 * strength + strength**2


def distance_bounds(sigma: float, draw_range: float = 1.0) -> tuple[float, float]:
    """Theorem 1: sqrt(1 - e) |c - c'| <= |A_pert c - A_pert c'| <= sqrt(1 + e) |c - c'|, if e = e(s) < 1.

    The condition means s < sqrt(2) - 1 = 0.414, that is rho > 1.16 at amplitude 0.48: it fails for every rho used in
    the paper's experiments (0.05 to 0.9). The lower bound is then vacuous, and 0 is returned for it. The upper bound
    equals 1 + s and holds for every s.
    """
    excess = operator_norm_bound(sigma, draw_range)
    return math.sqrt(max(0.0, 1.0 - excess)), math.sqrt(1.0 + excess)


def sharp_distance_bounds(sigma: float, draw_range: float = 1.0, *, equal_sums: bool = True) -> tuple[float, float]:
    """Theorem 1, sharpened: |c - c'| <= |A_pert c - A_pert c'| <= (1 + s) |c - c'| for scores that sum to one.

    The difference x of two vectors with equal sums has A x = x under both matrices, so A_pert x = (I + E) x with E
    between 0 and s: nothing shrinks, for any rho. Without equal sums (`equal_sums=False`) the lower bound is 1 - s:
    all singular values of A are 1, and those of A + E differ by at most |E| <= s (Weyl). Both are better than the
    printed sqrt(1 - 2 s - s^2).
    """
    strength = sigma * draw_range
    return (1.0 if equal_sums else max(0.0, 1.0 - strength)), 1.0 + strength


def correlation_bound(sigma: float, draw_range: float = 1.0) -> float:
    """Corollary 1: the (uncentred) correlation of A_pert c and A_pert c' moves by at most 2 e / (1 - e), if e < 1.

    Two correlations are never more than 2 apart, so the statement is vacuous from e = 1/2 on: s >= 0.225, rho <= 2.14
    at amplitude 0.48. Infinity is returned where the condition e < 1 fails.
    """
    excess = operator_norm_bound(sigma, draw_range)
    return 2.0 * excess / (1.0 - excess) if excess < 1.0 else math.inf
