"""The public inverse of OP-epsilon: the mean of the score vectors that come out in the intervals that are shown.

The chances of every interval are public, so what they make likely can be written down. Scores are taken as a mixture of
Dirichlet vectors (`priors`), each in its own right: the posterior mean of every score by itself, corrected by the sum,
and how well it explains the intervals. Two classes are one number, where the posterior is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privee.defenses.inverse import CONCENTRATIONS, condition_on_sum

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
LEAST = 1e-12
"""Variances and probabilities are no smaller."""
SURE_IN_ALL, SURE_SHARE = 0.3, 0.25
"""A concentration of a tenth for every class is ten with a hundred classes: no score of such a vector is large. So a
part of what confident models count is theirs whose concentration is this in all. A larger part would read scores of
models that are sure of a class better still, but flat ones of many classes worse, where they drown in noise."""


def posterior_mean(drawn: Integers, chances: Array) -> Array:
    """Scores behind drawn intervals.

    Args:
        drawn: the interval of every score, (n, K).
        chances: of every interval (columns) from every grid value of a score (rows), the last of them a sure one.
    """
    mixed = priors(drawn.shape[1])
    each = [_given(concentration, drawn, chances) for concentration, _ in mixed]
    logs = np.stack([found[1] for found in each]) + np.log([share for _, share in mixed])[:, None]
    share = np.exp(logs - logs.max(axis=0))
    share /= share.sum(axis=0)
    return np.asarray(np.einsum("cn,cnk->nk", share, np.stack([found[0] for found in each])))


def priors(n_classes: int) -> tuple[tuple[float, float], ...]:
    """Concentrations for every class, and how likely each is: flat, confident, and sure of a few of many classes."""
    least = min(CONCENTRATIONS)
    parted = {c: share * (1 - SURE_SHARE * (c == least)) for c, share in CONCENTRATIONS.items()}
    return (*parted.items(), (min(least, SURE_IN_ALL / n_classes), SURE_SHARE * CONCENTRATIONS[least]))


def _given(concentration: float, drawn: Integers, chances: Array) -> tuple[Array, Array]:
    """For one Dirichlet prior: the mean of the scores, and the logarithm of how likely these intervals are."""
    n_classes = drawn.shape[1]
    prior, places = _cells(concentration, concentration * (n_classes - 1), len(chances))
    if n_classes == 2:
        return _of_two(drawn, chances, prior, places)
    likely = prior[:, None] * chances
    chance = np.maximum(likely.sum(axis=0), LEAST)
    mean = places @ likely / chance
    variance = np.maximum(places**2 @ likely / chance - mean**2, LEAST)
    middle, spread = mean[drawn], variance[drawn]
    # That they sum to one is more or less likely than it was beforehand, as of normal numbers.
    total, beforehand = spread.sum(axis=1), n_classes * float(prior @ places**2 - (prior @ places) ** 2)
    summing = -0.5 * (np.log(total / max(beforehand, LEAST)) + np.square(middle.sum(axis=1) - 1) / total)
    found = condition_on_sum(middle, spread, np.zeros_like(middle), np.ones_like(middle))
    return found, np.log(chance)[drawn].sum(axis=1) + summing


def _of_two(drawn: Integers, chances: Array, prior: Array, places: Array) -> tuple[Array, Array]:
    """The second score is what the first one leaves, so both intervals speak of one number."""
    other = chances[:-1][::-1]  # rounded down: of x just above a grid value, 1 - x is just below one
    likely = prior[:-1, None] * chances[:-1]
    pair = drawn[:, 0], drawn[:, 1]
    chance = np.maximum(likely.T @ other, LEAST**2)
    first = ((places[:-1, None] * likely).T @ other / chance)[pair]
    return np.stack([first, 1 - first], axis=1), np.log(chance[pair])


def _cells(a: float, b: float, count: int) -> tuple[Array, Array]:
    """Of a Beta distribution: the probability of every grid cell, the last of them empty, and the mean in each."""
    from scipy.special import betainc  # here, so that importing privee stays fast

    edges = np.arange(count) / (count - 1)
    prior = np.append(np.diff(betainc(a, b, edges)), 0.0)
    weight = np.append(np.diff(betainc(a + 1, b, edges)), 0.0) * a / (a + b)
    middles = (np.arange(count) + 0.5) / (count - 1)
    return prior, np.divide(weight, prior, out=middles, where=prior > LEAST)
