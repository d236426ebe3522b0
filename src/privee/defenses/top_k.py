"""Top-k: only the leading scores are handed out."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_whole
from privee.defenses.registry import register
from privee.randomness import Draws
from privee.scores import ascending
from privee.scores.forms import Floats


@register
@dataclasses.dataclass(frozen=True)
class TopK(Defense):
    """Releases the `k` leading scores exactly and 0 for every other class."""

    name: ClassVar[str] = "top-k"
    place: ClassVar[int] = 40
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "leading scores exactly, zero for the rest"

    k: int = 5

    def __post_init__(self) -> None:
        check_whole(1, 10**9, k=self.k)

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        out = rows.copy()
        order, _ = ascending(rows)
        out.reshape(-1)[order[:, : max(0, rows.shape[1] - self.k)]] = 0
        return out

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        """Nothing tells the hidden classes apart, so they share what is left of one, none above the k-th score."""
        hidden = max(0, rows.shape[1] - self.k)
        if not hidden:
            return rows
        order, values = ascending(rows)
        left = np.clip(1.0 - values[:, hidden:].sum(axis=1, keepdims=True), 0.0, None)
        out = rows.copy()
        out.reshape(-1)[order[:, :hidden]] = np.minimum(left / hidden, values[:, hidden : hidden + 1])
        return out

    @property
    def monotone(self) -> bool:
        """What is left out is set below what is shown."""
        return True

    def guarantee(self, n_classes: int) -> Guarantee:
        """The leading scores are in the clear; the rest only through their sum."""
        kept = min(self.k, n_classes)
        return Guarantee(
            proven="none" if kept == n_classes else f"the release depends on the {kept} leading classes alone",
            same="" if kept == n_classes else f"score vectors with the same {kept} leading classes and scores",
            not_covered=(f"the {kept} leading scores, exactly", "the sum of the others", asked_again(n_classes, kept)),
        )
