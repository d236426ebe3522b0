"""How well a score tells for whom something holds, and how much better than another score on the same records.

AUC with ties counted half, and DeLong's standard errors: the spread of each record's placement among the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Placements(NamedTuple):
    """Of every record for which it holds, the share of the others below it; and the reverse for the others."""

    holds: Array
    others: Array

    @property
    def auc(self) -> float:
        """The chance that of two records, one of each kind, the right one has the higher score."""
        return float(self.holds.mean())

    @property
    def error(self) -> float:
        """Standard error of the AUC over records."""
        return _error(self.holds, self.others)


def placements(scores: Array, holds: Flags) -> Placements:
    """Both kinds of records must be there.

    Example:
        >>> placements(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True])).auc
        0.875
    """
    yes, no = scores[holds], scores[~holds]
    return Placements(share_below(yes, no), 1.0 - share_below(no, yes))


def share_below(values: Array, others: Array) -> Array:
    """Of the others, the share below each value; equal ones count half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return np.asarray(below / (2 * len(others)))


def difference_error(one: Placements, other: Placements) -> float:
    """Standard error of the difference of two AUCs on the same records."""
    return _error(one.holds - other.holds, one.others - other.others)


def chance_if_few(one: Placements, other: Placements) -> float:
    """The chance that some score places the few as high as this, if it is no better than another on the same records.

    For a handful of records a standard error says little. A score of AUC G is taken to place each of the few at a
    quantile with distribution function v^(G / (1 - G)) (Lehmann's alternative), so that the logarithms of their
    places add up to a gamma variable. G is the other score's AUC, or one half, plus 1.645 standard errors, none of
    them smaller than that of a score that says nothing.

    Example:
        >>> few, many = np.array([9.0] * 6), np.arange(9.0)
        >>> best = placements(np.concatenate([few, many]), np.arange(15) < 6)
        >>> none = placements(np.zeros(15), np.arange(15) < 6)
        >>> chance_if_few(best, none) < 1e-3, chance_if_few(none, none) > 0.5
        (True, True)
    """
    ours, theirs = (p.holds if len(p.holds) <= len(p.others) else p.others for p in (one, other))
    finest = 0.5 / max(len(one.holds), len(one.others))
    error = max(other.error, 1.0 / math.sqrt(12 * len(theirs)))
    ceiling = min(max(float(theirs.mean()), 0.5) + 1.645 * error, 1.0 - finest)
    places = np.clip(ours, finest, 1.0 - finest)
    return float(gamma.cdf(-ceiling / (1.0 - ceiling) * np.log(places).sum(), len(places)))


def top_precision(scores: Array, holds: Flags) -> float:
    """Share of right ones among as many top candidates as there are right ones; ties share what places are left.

    Example:
        >>> top_precision(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
        0.75
    """
    count = int(holds.sum())
    cut = np.partition(scores, len(scores) - count)[len(scores) - count]
    above, level = scores > cut, scores == cut
    places = count - int(above.sum())
    return float((holds[above].sum() + places * holds[level].mean()) / count)


def _error(holds: Array, others: Array) -> float:
    return math.sqrt(holds.var(ddof=1) / len(holds) + others.var(ddof=1) / len(others))
