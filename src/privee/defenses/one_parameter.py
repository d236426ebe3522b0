"""The one-parameter defense (Ye, Shen, Zhu, Liu, Zhou 2022), in the form that its abstract promises.

A differentially private mechanism modifies the scores, they are put into the original order and normalised; epsilon is
the only setting. The mechanism here is the exponential one for each score, with the distance to it as (negative)
utility: that part is from memory of the paper, not from its text.

What epsilon covers. Write G for the grid, g and g' for the scores of two vectors rounded down to it, both sorted:
their sums are G at most. With whole weights W that fall by e^step at most per step and Z(g) = sum over r of W(|r -
g|):

1. One score: P(r | g) = W(|r - g|) / Z(g), so its loss is step |g - g'| + log Z(g') - log Z(g), at most 2 step |g -
   g'|. That is what an epsilon per score means, and K of them would be K epsilon by composition alone.
2. All scores: draws are independent and losses add up. The L1 distance of two sorted vectors whose sum is at most G is
   convex in both, so it is largest between corners of that set, which are 0 and the equal scores of the m leading
   classes: 2 G (1 - 1/K) at most.
3. Z(g + 1) - Z(g) = W(g + 1) - W(G - g) never rises with g, so log Z is concave (and symmetric): by Jensen the totals
   add K (log Z(G / K) - log Z(0)) at most. Both maxima are reached by one pair, a sure vector and an even one, so
       epsilon = 2 G (1 - 1/K) step + K (log Z(G / K) - log Z(0))
   is exact, up to the 2**-30 per score that words add (and draws rarer than 2**-32, where whole weights end at one,
   lose less). The defense solves it for `step`.
4. Sorting the draws, giving them to classes by the ranking, normalising and the repair of last bits see the draws and
   the ranking alone: post-processing for vectors with the same ranking, and for no others. Nothing covers the ranking.

So epsilon here means what it means for Ordered-DP: of one release, for the whole vector, given the ranking. It is exact
for the draws; what sorting and normalising hide of them is not credited, and with two classes that is a good part of a
small epsilon (docs/defenses.md has figures).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_positive
from privee.defenses.exponential_mechanism import (
    Integers,
    Words,
    falling_weights,
    share_of,
    step_for,
    vector_epsilon,
)
from privee.defenses.registry import register
from privee.defenses.simulated_inverse import simulated_inverse
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores import ascending, place, rise_where
from privee.scores.forms import Floats

GRID = 1 << 12
SMALLEST_EPSILON, MOST_CLASSES = 1e-3, 100_000
TINY = float(np.finfo(np.float64).tiny)


@register
@dataclasses.dataclass(frozen=True)
class OneParameter(Defense):
    """Every score drawn anew by the exponential mechanism, the draws put into the scores' order and normalised.

    Args:
        epsilon: of one release, for the whole score vector given its ranking, as in Ordered-DP; 0.001 or more.

    Example:
        >>> OneParameter(epsilon=8.0).guarantee(10).same
        'any two score vectors with the same ranking'
    """

    name: ClassVar[str] = "one-parameter"
    place: ClassVar[int] = 62
    preserves_order: ClassVar[bool] = True
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "exact ranking, every score drawn anew under differential privacy (Ye et al.)"
    example: ClassVar[str] = "one-parameter:epsilon=8"
    advice: ClassVar[Advice] = Advice(
        loses={
            "ranking": "draws every score; as released, it moved models' scores more than Ordered-DP wherever tried"
        },
        formal_only=True,
    )

    epsilon: float

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon)
        if self.epsilon < SMALLEST_EPSILON:
            raise SettingError(f"epsilon must be {SMALLEST_EPSILON:g} or more (ranking-only is the limit at 0)")

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        order, rising = ascending(rows)
        on_grid = np.clip(rising / np.maximum(sums, TINY)[:, None] * GRID, 0, GRID).astype(np.int64)  # rounded down
        made = np.sort(_drawn(on_grid, _public(self.epsilon, rows.shape[1]), draws), axis=1).astype(np.float64)
        total = made.sum(axis=1, keepdims=True)
        made = np.divide(made, total, out=np.full(made.shape, 1 / rows.shape[1]), where=total > 0)
        # The scores take no part in the repair: even whether two of them were equal must not show.
        return place(order, rise_where(None, made.astype(rows.dtype)))

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        return simulated_inverse(self, rows)

    def guarantee(self, n_classes: int) -> Guarantee:
        """Pure differential privacy of the magnitudes, given the ranking; and what each score has by itself."""
        step = _public(self.epsilon, n_classes).step
        return Guarantee(
            proven=f"{self.epsilon:g}-differential privacy of the magnitudes, given the ranking",
            same="any two score vectors with the same ranking",
            epsilon=self.epsilon,
            delta=0.0,
            not_covered=("the ranking itself", asked_again(n_classes), "T fresh releases cost T times epsilon"),
            figures={
                "epsilon_per_score": 2 * GRID * step,
                "noise_scale": 1 / (GRID * step),
                "grid_step": 1 / GRID,
            },
        )


class _Public(NamedTuple):
    """The step, the weights of draws -GRID..GRID summed up (from 0), and the total from each true value."""

    step: float
    below: Integers
    totals: Words


@functools.lru_cache(maxsize=64)
def _public(epsilon: float, n_classes: int) -> _Public:
    if n_classes > MOST_CLASSES:
        raise SettingError(f"one-parameter draws every score: at most {MOST_CLASSES:,} classes, got {n_classes:,}")
    furthest = 2 * GRID * (1 - 1 / n_classes)

    def loss(step: float) -> float:
        return vector_epsilon(step, furthest, _made(step).totals.astype(np.int64), n_classes)

    return _made(step_for(epsilon, loss, epsilon / furthest))


def _made(step: float) -> _Public:
    half = falling_weights(step, GRID + 1)
    below = np.concatenate([[0], np.cumsum(np.concatenate([half[:0:-1], half]))])
    first = np.arange(GRID, -1, -1)  # where the draw 0 stands, from each true value
    return _Public(step, below, (below[first + GRID + 1] - below[first]).astype(np.uint64))


def _drawn(values: Integers, public: _Public, draws: Draws) -> Integers:
    """One draw for each value on the grid."""
    words = draws.words(values.size).reshape(values.shape)
    first = GRID - values
    at = public.below[first] + share_of(words, public.totals[values])
    return np.asarray(public.below.searchsorted(at, side="right") - 1 - first)
