"""High confidence: scores below a cutoff are not shown. As in the Adversarial Robustness Toolbox's post-processors."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_positive
from privee.defenses.registry import register
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores.forms import Floats


@register
@dataclasses.dataclass(frozen=True)
class HighConfidence(Defense):
    """Releases scores from `cutoff` on exactly and 0 for every other class; nothing is scaled up again.

    Where no score reaches the cutoff, all are 0 and not even the predicted class is shown.
    """

    name: ClassVar[str] = "high-confidence"
    place: ClassVar[int] = 42
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "high scores exactly, zero for the rest; may hide the class"

    cutoff: float = 0.25

    def __post_init__(self) -> None:
        check_positive(cutoff=self.cutoff)
        if self.cutoff > 1:
            raise SettingError(f"cutoff must be at most 1, got {self.cutoff:g}")

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        return np.where(rows >= self.cutoff, rows, rows.dtype.type(0))

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        """What is shown is exact; nothing tells the others apart, so they share what is left of one."""
        hidden = rows <= 0
        count = hidden.sum(axis=1, keepdims=True)
        left = np.clip(1.0 - rows.sum(axis=1, keepdims=True), 0.0, None)
        return np.where(hidden, left / np.maximum(count, 1), rows)

    @property
    def monotone(self) -> bool:
        """What is left out lies below what is shown."""
        return True

    @property
    def _shown_at_most(self) -> int:
        """How many scores can lie above the cutoff at once."""
        return max(1, math.ceil(1 / self.cutoff) - 1)

    def telling_scores(self, n_classes: int) -> NDArray[np.float64]:
        """As many as fit stand at the cutoff: there each of them shows, or does not."""
        if n_classes * self.cutoff <= 1:
            return super().telling_scores(n_classes)
        most = min(self._shown_at_most, n_classes - 1)
        scores = np.full(n_classes, (1 - most * self.cutoff) / (n_classes - most))
        scores[:most] = self.cutoff
        return scores

    def guarantee(self, n_classes: int) -> Guarantee:
        """High scores are in the clear; the rest only through their sum."""
        return Guarantee(
            proven=f"the release depends on the scores from {self.cutoff:g} on alone",
            same=f"score vectors with the same scores from {self.cutoff:g} on",
            not_covered=(
                f"every score from {self.cutoff:g} on, exactly",
                "the sum of the others",
                asked_again(n_classes, self._shown_at_most),
            ),
            figures={"shown_at_most": self._shown_at_most},
        )
