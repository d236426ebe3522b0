"""What a reverse sigmoid's release says where there are too many classes to try every choice of branches.

Given the total, a class has two scores to choose from, on the falling and on the rising branch, each with a weight: the
prior's density over the slope. But for the sum of all scores the choices would be independent. They are taken as such,
with the tilt exp(t p) that brings the mean of the sum to one, and the chance of that sum is a normal number's. Totals
are tried one after the other, and count by how likely they make the release.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST = 1e-9
"""Scores are taken to be no less than this, and no more than one less it."""
POINTS, COARSE, STEPS = 24, 16, 5
"""Totals that are tried, those that find where to try them, and steps to each tilt."""
LONGEST, LARGEST = 80.0, 4000.0
"""Step and tilt."""
BEYOND, FLATTEST = 1e-5, 1e-3
"""How far a value may lie beyond where f is cut off before it counts for little; the least slope, as f has turns."""


class Branch(NamedTuple):
    """A part of f between two turns: its values, rising, and the scores and slopes there."""

    values: Array
    scores: Array
    slopes: Array

    def score(self, values: Array) -> Array:
        """Behind values of f."""
        return np.asarray(np.interp(values, self.values, self.scores))

    def slope(self, values: Array) -> Array:
        """Of f there, without its sign."""
        return np.maximum(np.abs(np.interp(values, self.values, self.slopes)), FLATTEST)


class _Pairs(NamedTuple):
    """By row, total and class: the lower score and the other, and the slopes there; how far beyond the lower one is."""

    low: Array
    high: Array
    low_slope: Array
    high_slope: Array
    beyond: Array


def mean_by_totals(rows: Array, falling: Branch, rising: Branch, priors: dict[float, float]) -> tuple[Array, Array]:
    """Mean scores behind releases, and the logarithm of how likely each release is (-inf where no total fits).

    Args:
        rows: releases, each in rising order.
        falling: the first branch of f.
        rising: the second.
        priors: concentrations of Dirichlet vectors, and how likely each is.
    """
    totals, widths, fit = _totals(rows, falling, rising)
    values = totals[:, :, None] * rows[:, None, :]
    slopes = falling.slope(values), rising.slope(values)
    pairs = _Pairs(falling.score(values), rising.score(values), *slopes, _above(values, falling) / BEYOND)
    measure = rows.shape[1] * np.log(totals) + np.log(widths)
    each = [_given(pairs, values, widths, concentration) for concentration in priors]
    logs = [log + measure + np.log(share) for (_, log), share in zip(each, priors.values(), strict=True)]
    log = np.concatenate(logs, axis=1)
    most = log.max(axis=1, keepdims=True)
    weight = np.exp(log - most)
    whole = weight.sum(axis=1, keepdims=True)
    mean = np.einsum("nt,ntk->nk", weight / whole, np.concatenate([found for found, _ in each], axis=1))
    return mean, np.where(fit, (most + np.log(whole))[:, 0], -np.inf)


def _totals(rows: Array, falling: Branch, rising: Branch) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Totals at which scores can sum to one, how wide each one's part is (in logarithms), and whether there are any.

    They stand closer where they are small: there the lowest class comes near the turn, and its weight is largest.
    """
    low, high = (rising.values[k] / np.maximum(rows[:, k], 1e-12) for k in (0, -1))
    fit = high > low
    tried = low[:, None] * np.maximum(high / low, 1.0001)[:, None] ** np.linspace(0, 1, COARSE)
    values = tried[:, :, None] * rows[:, None, :]
    most = rising.score(values)
    least = np.where(_above(values, falling) > 0, most, falling.score(values)).sum(axis=2)
    can = (least <= 1) & (most.sum(axis=2) >= 1)
    some, last = can.any(axis=1), COARSE - 1
    first = np.where(some, np.maximum(can.argmax(axis=1) - 1, 0), 0)
    end = np.where(some, np.minimum(COARSE - can[:, ::-1].argmax(axis=1), last), last)
    low, high = (np.take_along_axis(tried, at[:, None], axis=1) for at in (first, end))
    places = (np.arange(POINTS) + 0.5) / POINTS
    return low * (high / low) ** places**2, np.log(high / low) * 2 * places / POINTS, fit


def _above(values: Array, falling: Branch) -> Array:
    return np.asarray(np.maximum(values - falling.values[-1], 0.0))


def _given(pairs: _Pairs, values: Array, widths: Array, concentration: float) -> tuple[Array, Array]:
    """For one Dirichlet prior, by row and total: mean scores, and the logarithm of how likely they are."""
    from scipy.special import expit, gammaln  # here, so that importing privee stays fast

    prior = (concentration - 1) * np.log(np.maximum(np.stack([pairs.low, pairs.high]), LEAST))
    log = prior[0] - np.log(pairs.low_slope) - pairs.beyond
    odds = prior[1] - np.log(pairs.high_slope) - log
    more, least = pairs.high - pairs.low, pairs.low.sum(axis=2)
    tilt = _tilt(odds, more, 1.0 - least)
    odds = odds + tilt[:, :, None] * more
    share = expit(odds)
    found = pairs.low + more * share
    miss = found.sum(axis=2) - 1.0
    moved = (values * (share / pairs.high_slope - (1 - share) / pairs.low_slope)).sum(axis=2) * widths / 2
    variance = (more**2 * share * (1 - share)).sum(axis=2) + np.square(moved) + 1e-12
    likely = (log + np.logaddexp(0.0, odds)).sum(axis=2) + tilt * (least - 1.0)
    likely -= (np.log(2 * np.pi * variance) + np.square(miss) / variance) / 2
    classes = values.shape[2]
    return found, likely + gammaln(classes * concentration) - classes * gammaln(concentration)


def _tilt(odds: Array, more: Array, wanted: Array) -> Array:
    """By row and total: the tilt with which the mean of what is `more` is what is wanted.

    Newton's steps, and where one leaves what is known to hold the answer, half of that.
    """
    from scipy.special import expit

    tilt = np.zeros(wanted.shape)
    low, high = tilt - LARGEST, tilt + LARGEST
    for _ in range(STEPS):
        share = expit(odds + tilt[:, :, None] * more)
        over = (more * share).sum(axis=2) - wanted
        low, high = np.where(over > 0, low, tilt), np.where(over > 0, tilt, high)
        rise = (more**2 * share * (1 - share)).sum(axis=2) + 1e-5
        stepped = tilt - np.clip(over / rise, -LONGEST, LONGEST)
        tilt = np.where((stepped > low) & (stepped < high), stepped, (low + high) / 2)
    return tilt
