"""What rankings tell of the private part z of additive logits: bounds on differences, one zone for any number of them.

A model is additive if its logits are own part + z. Nothing but differences between classes can show: adding the same
number to all classes changes no score. Statements and proofs: docs/chosen_questions.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Classes = NDArray[np.intp]


class HalfSpaces(NamedTuple):
    """z[above] - z[below] >= level, one for each place."""

    above: Classes
    below: Classes
    level: Array


def half_spaces(order: Any, own_logits: Any) -> HalfSpaces:
    """One answer's K - 1 half-spaces, which say all that it tells.

    Args:
        order: the leading classes that are shown, first the first: the whole ranking, the label alone, or between.
        own_logits: the own part that was asked with, one for each class.

    Example:
        >>> told = half_spaces([2, 0, 1], [0.0, 0.0, -1.5])
        >>> told.above.tolist(), told.below.tolist(), told.level.tolist()  # z2 - z0 >= 1.5, z0 - z1 >= 0
        ([2, 0], [0, 1], [1.5, 0.0])
    """
    shown, own = np.asarray(order, dtype=np.intp), np.asarray(own_logits, dtype=np.float64)
    rest = np.setdiff1d(np.arange(len(own)), shown)
    above = np.concatenate([shown[:-1], np.repeat(shown[-1], len(rest))])
    below = np.concatenate([shown[1:], rest])
    return HalfSpaces(above, below, own[below] - own[above])


def difference_bounds(answers: Iterable[HalfSpaces], n_classes: int) -> Array:
    """The tightest L with z_i - z_j >= L[i, j] that follow from all answers together, (K, K); -inf where none does.

    Chains of differences are longest paths (Floyd and Warshall): what the answers say of i and k, and of k and j, adds
    up. -L[j, i] is then the upper bound of z_i - z_j.
    """
    bounds = np.full((n_classes, n_classes), -np.inf)
    np.fill_diagonal(bounds, 0.0)
    for one in answers:
        np.maximum.at(bounds, (one.above, one.below), one.level)
    for k in range(n_classes):
        np.maximum(bounds, bounds[:, k : k + 1] + bounds[k], out=bounds)
    return bounds


def contains(bounds: Array, part: Any, slack: float = 0.0) -> bool:
    """Is this private part in the zone that the bounds leave?"""
    z = np.asarray(part, dtype=np.float64)
    return bool((z[:, None] - z[None, :] >= bounds - slack).all())
