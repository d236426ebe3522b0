"""Ranking only: the most an order-preserving release can hide."""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee
from privee.defenses.registry import register
from privee.randomness import Draws
from privee.scores import ascending, place, rise_where
from privee.scores.along_rows import BLOCK, add_up, row_sums, to_each
from privee.scores.forms import Floats


def expected_scores_by_rank(n_classes: int) -> NDArray[np.float64]:
    """Mean of the sorted entries of a uniformly random probability vector, the largest first."""
    falling = np.arange(n_classes, 0, -1)
    return np.cumsum(1.0 / falling)[::-1] / n_classes


@register
@dataclasses.dataclass(frozen=True)
class RankingOnly(Defense):
    """Places a fresh, uniformly random, sorted probability vector by rank: the ranking and nothing else."""

    name: ClassVar[str] = "ranking-only"
    place: ClassVar[int] = 70
    preserves_order: ClassVar[bool] = True
    uses_sums: ClassVar[bool] = False
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "a random probability vector in the right order; the ceiling for keeping the ranking"
    audited: ClassVar[tuple[str, ...]] = ("ranking-only",)
    advice: ClassVar[Advice] = Advice(
        keeps=("ranking",),
        wins="the order is all that was asked for, and no release that keeps the ranking gives away less",
        loses={
            "class": "gives the whole ranking away, and the predicted class was asked for",
            "top": "gives the whole ranking away, and the leading classes were asked for",
            "ranking": "hides more (epsilon 0), but its scores are drawn at random and mean nothing",
            "records": "keeps the order of classes within a record, not that between records (Kendall's tau {between})",
        },
        note="Use the order alone: the numbers in the release are drawn at random.",
    )

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        order, _ = ascending(rows)
        # The scores take no part in the repair: even whether two of them were equal must not show.
        return place(order, rise_where(None, _rising_probabilities(rows.shape, draws).astype(rows.dtype, copy=False)))

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        order, _ = ascending(rows)
        expected = np.empty_like(rows)
        expected[:] = expected_scores_by_rank(rows.shape[1])[::-1]
        return place(order, expected)

    def guarantee(self, n_classes: int) -> Guarantee:
        """The release is a function of the ranking and fresh draws."""
        return Guarantee(
            proven="the release depends on the ranking alone, however often it is asked for",
            same="score vectors with the same ranking",
            epsilon=0.0,
            delta=0.0,
            not_covered=("the full ranking", asked_again(n_classes)),
        )


def _rising_probabilities(shape: tuple[int, ...], draws: Draws) -> NDArray[np.float64]:
    """Sorted uniform probability vectors without a sort: spacings of exponentials (Renyi 1953)."""
    weights = draws.exponential(shape)
    weights /= to_each(row_sums(weights), shape[1])
    weights /= _from_last(shape[1])[: len(weights)]
    return add_up(weights)


@functools.lru_cache(maxsize=16)
def _from_last(n_classes: int) -> NDArray[np.float64]:
    """K, ..., 2, 1, for each row of a block."""
    falling = np.tile(np.arange(n_classes, 0, -1, dtype=np.float64), (max(1, BLOCK // n_classes), 1))
    falling.setflags(write=False)
    return falling
