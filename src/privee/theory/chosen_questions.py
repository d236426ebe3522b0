"""No release that keeps an exact order holds against chosen own columns: the strategy, its bound, and the converse.

For additive logits (own part + private part z; a logistic model, or two networks joined by one dense layer), whatever
the magnitudes. `shown` is how many leading classes a release shows in their order: None for the whole ranking, 1 for a
label. Differences are those of neighbouring classes, z_i - z_(i+1). Proofs: docs/chosen_questions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses.asked_again import questions_to_halve
from privee.errors import SettingError

Array = NDArray[np.float64]
Answer = Callable[[Array], Any]
"""From own logits to the classes that the release shows, the leading one first."""


def questions_needed(bits: int, n_classes: int, shown: int | None = None) -> int:
    """After so many questions every difference is known to 2^-bits of its first width: bits x ceil((K - 1) / shown).

    Example:
        >>> questions_needed(10, 10), questions_needed(10, 10, shown=1), questions_needed(10, 2, shown=1)
        (10, 90, 10)
    """
    _check(n_classes, shown)
    return bits * questions_to_halve(n_classes, shown)


def width_after(questions: int, n_classes: int, shown: int | None = None, width: float = 1.0) -> float:
    """What `bisect` leaves open of a difference at most, if that much was open before."""
    _check(n_classes, shown)
    return width * 2.0 ** -(questions // questions_to_halve(n_classes, shown))


def fewest_questions(bits: float, n_classes: int, shown: int | None = None) -> int:
    """No strategy does with fewer, if the order is all that a release tells: there are only so many answers.

    K! / (K - shown)! of them to each question, and 2^(bits (K - 1)) boxes to tell apart.

    Example:
        >>> fewest_questions(10, 10), fewest_questions(10, 10, shown=1), fewest_questions(10, 2)
        (5, 28, 10)
    """
    _check(n_classes, shown)
    kept = n_classes if shown is None else min(shown, n_classes)
    answers = (math.lgamma(n_classes + 1) - math.lgamma(n_classes - kept + 1)) / math.log(2)
    return math.ceil(bits * (n_classes - 1) / answers - 1e-9)


def bisect(answer: Answer, low: Any, high: Any, questions: int, shown: int | None = None) -> tuple[Array, Array]:
    """Play the strategy: ask where the classes would be equal in the middle of what is open.

    Args:
        answer: answers one question about one record.
        low: of each difference between neighbouring classes, at least so much before, (K - 1,).
        high: at most so much.
        questions: how many are asked.
        shown: how many leading classes an answer shows in order.

    Returns:
        What is known of each difference after; the truth is in there if it was before.
    """
    low, high = (np.array(side, dtype=np.float64) for side in (low, high))
    n_classes = len(low) + 1
    _check(n_classes, shown)
    turns = questions_to_halve(n_classes, shown)
    together = n_classes - 1 if shown is None else min(shown, n_classes - 1)
    for question in range(questions):
        first = (question % turns) * together
        pairs = np.arange(first, min(first + together, n_classes - 1))
        middle = (low + high) / 2
        told = _is_above(answer(_own_logits(middle, high - low, pairs)), n_classes)[pairs]
        low[pairs] = np.where(told, middle[pairs], low[pairs])
        high[pairs] = np.where(told, high[pairs], middle[pairs])
    return low, high


def column_error_bound(weights: Any, width: float) -> float:
    """How far columns worked out from the middles are off at most (L2), if no difference has more than `width` open.

    `weights` are those of the private columns in a logistic model, (K, columns). Infinite where they do not fix the
    columns: then scores themselves tell no more than the differences.
    """
    slopes = -np.diff(np.asarray(weights, dtype=np.float64), axis=0)
    if slopes.shape[1] > slopes.shape[0]:
        return math.inf
    smallest = float(np.linalg.svd(slopes, compute_uv=False)[-1])
    return math.sqrt(len(slopes)) * width / 2 / smallest if smallest > 0 else math.inf


def own_columns_for(weights: Any, own_logits: Any) -> Array | None:
    """Own columns in [0, 1] of a logistic model that give these own logits but for a number added to all; None if none.

    The theorem's one condition: there is an answer for every question that `bisect` asks.
    """
    from scipy.optimize import linprog  # here: most who import privee need it not

    slopes, wanted = np.asarray(weights, dtype=np.float64), np.asarray(own_logits, dtype=np.float64)
    exactly = np.hstack([slopes, np.ones((len(slopes), 1))])
    bounds = [(0.0, 1.0)] * slopes.shape[1] + [(None, None)]
    found = linprog(np.zeros(exactly.shape[1]), A_eq=exactly, b_eq=wanted, bounds=bounds)
    return np.asarray(found.x[:-1]) if found.success else None


def _own_logits(middle: Array, width: Array, pairs: NDArray[np.intp]) -> Array:
    """All classes of these pairs equal if z is in the middle, and every other class surely below them."""
    own = np.concatenate([[0.0], np.cumsum(middle)])  # less z, whose differences fall where these rise
    others = np.ones(len(own), dtype=bool)
    others[pairs[0] : pairs[-1] + 2] = False
    own[others] -= width.sum() / 2 + 1
    return own


def _is_above(shown: Any, n_classes: int) -> NDArray[np.bool_]:
    """Of each class, is it above the next one? Classes that are not shown are below those that are."""
    place = np.full(n_classes, n_classes)
    place[np.asarray(shown, dtype=np.intp)] = np.arange(len(shown))
    return np.asarray(place[:-1] < place[1:])


def _check(n_classes: int, shown: int | None) -> None:
    if n_classes < 2 or (shown is not None and shown < 1):
        raise SettingError("there must be two classes or more, and one or more of them shown")
