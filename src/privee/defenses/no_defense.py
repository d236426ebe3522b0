"""No defense: the scores themselves. The baseline everything is compared with."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee
from privee.defenses.registry import register
from privee.randomness import Draws
from privee.scores.forms import Floats


@register
@dataclasses.dataclass(frozen=True)
class NoDefense(Defense):
    """Hands out a copy of the scores."""

    name: ClassVar[str] = "none"
    place: ClassVar[int] = 0
    preserves_order: ClassVar[bool] = True
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "hands out the scores as they are"
    audited: ClassVar[tuple[str, ...]] = ("none",)
    advice: ClassVar[Advice] = Advice(unprotective="hands out the scores themselves")

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        return rows.copy()

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        return rows

    def guarantee(self, n_classes: int) -> Guarantee:
        """Nothing is hidden."""
        return Guarantee(not_covered=("everything: the scores are released exactly", asked_again(n_classes)))
