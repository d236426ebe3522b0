"""Where windows should be, so that what comes out orders records as the scores do: a public computation.

A score s is taken to be spread over records like a Beta distribution (`prior`), whose quantiles are the cells' edges.
If scores are calibrated, a pair of records in which the one with score s has the label and the one with s' has not is
s (1 - s') of all pairs, so that the area under the ROC curve grows with the mean of (s - s') sign(y - y') over pairs of
records with outcomes y, y'. For one record against all others, with all windows as they are, that is a line in s for
each outcome, and its window should lie where the lines are highest. Taking turns ends in windows that are best for each
other; no mechanism of the same epsilon was found to order better (benchmarks/record_order.py).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses.windows import CELLS, Integers, window_probabilities

Array = NDArray[np.float64]

TURNS = 30
WORTH_A_TURN = 1 + 1e-6
WORSE = 0.98
"""A width that keeps less than this share of the best order so far ends the search: narrower ones keep less still."""


class Design(NamedTuple):
    """Public: cells by score (`edges`, one more than cells), each one's window, and what each outcome stands for."""

    edges: Array
    starts: Integers
    width: int
    values: Array


@functools.lru_cache(maxsize=1024)
def best_windows(epsilon: float, prior: tuple[float, float]) -> Design:
    """The windows that order records best, and for each outcome the mean of the scores it may have come from."""
    edges, means = cells_of(prior)
    tried = []
    for width in _widths():
        found, starts = place_windows(means, width, epsilon)
        tried.append((found, width, starts))
        if found < WORSE * max(one[0] for one in tried):
            break
    _, width, starts = max(tried, key=lambda one: one[0])
    likely = window_probabilities(starts, width, epsilon)
    values = _summed(means, likely) / likely.sum(axis=0)
    return Design(edges, starts, width, np.clip(values, means[0], means[-1]))


def cells_of(prior: tuple[float, float]) -> tuple[Array, Array]:
    """Edges of cells that hold equally many records, and the mean score in each."""
    from scipy.special import betainc, betaincinv  # here, so that importing privee stays fast

    a, b = prior
    edges = betaincinv(a, b, np.arange(CELLS + 1) / CELLS)
    edges[0], edges[-1] = 0.0, 1.0
    means = np.diff(betainc(a + 1.0, b, edges)) * (CELLS * a / (a + b))
    return edges, np.clip(means, edges[:-1], edges[1:])


def _widths() -> Iterator[int]:
    """From half of the cells down, by an eighth each time."""
    width = CELLS // 2
    while width:
        yield width
        width -= max(1, width // 8)


def place_windows(means: Array, width: int, epsilon: float) -> tuple[float, Integers]:
    """Starts of windows that are best for each other, and the order they keep: mean of (s - s') sign(y - y')."""
    starts = np.rint(np.linspace(0, CELLS - width, CELLS)).astype(np.int64)
    best, kept = 0.0, starts
    for _ in range(TURNS):
        likely = window_probabilities(starts, width, epsilon)
        level, slope = _lines(means, likely)
        worth = means[:, None] * slope - level
        found = float((likely * worth).mean(axis=0).sum())
        if found <= best * WORTH_A_TURN:
            break
        best, kept = found, starts
        sums = np.pad(worth.cumsum(axis=1), ((0, 0), (1, 0)))
        starts = (sums[:, width:] - sums[:, :-width]).argmax(axis=1)
    return best, kept


def _lines(means: Array, likely: Array) -> tuple[Array, Array]:
    """Per outcome y, with (s', y') another record: the means of s' sign(y - y') and of sign(y - y')."""
    level, slope = _summed(means, likely) / CELLS, likely.sum(axis=0) / CELLS
    return _below_less_above(level), _below_less_above(slope)


def _summed(weights: Array, rows: Array) -> Array:
    """`weights @ rows`, row after row: BLAS adds up in an order of its own on every kind of processor.

    Windows and values, and with them what seeds and keys give, are then the same everywhere.
    """
    return np.asarray(np.add.reduce(weights[:, None] * rows, axis=0))


def _below_less_above(parts: Array, axis: int = 0) -> Array:
    """What lies before each part less what lies behind it."""
    return np.asarray(2.0 * parts.cumsum(axis) - parts - parts.sum(axis, keepdims=True))


class OrderKept(NamedTuple):
    """What is left of the order between records on average, if scores are spread as the prior says.

    Attributes:
        kendall: share of pairs in the right order less that of pairs in the wrong one.
        auc: for the label, if scores are calibrated.
        auc_of_scores: the same without a defense.
        class_changed: share of records whose score comes out on the other side of one half.
    """

    kendall: float
    auc: float
    auc_of_scores: float
    class_changed: float


@functools.lru_cache(maxsize=64)
def order_kept(epsilon: float, prior: tuple[float, float]) -> OrderKept:
    """How well the best windows keep the order."""
    design, (_, means) = best_windows(epsilon, prior), cells_of(prior)
    order = np.argsort(design.values, kind="stable")
    likely, told = window_probabilities(design.starts, design.width, epsilon)[:, order], design.values[order]
    level, slope = _lines(means, likely)
    pairs = 4 * float(means.mean() * (1 - means).mean())
    ahead = _below_less_above(_below_less_above(likely, axis=1), axis=0)
    return OrderKept(
        kendall=float((likely * ahead).sum()) / CELLS**2,
        auc=0.5 + float((likely * (means[:, None] * slope - level)).mean(axis=0).sum()) / pairs,
        auc_of_scores=0.5 + float(np.abs(means[:, None] - means).mean()) / pairs,
        class_changed=float((likely * ((told > 0.5) != (means[:, None] > 0.5))).sum(axis=1).mean()),
    )
