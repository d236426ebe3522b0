"""Rounding: fewer digits."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_whole
from privee.defenses.inverse import condition_on_sum, tighten_by_sum
from privee.defenses.registry import register
from privee.randomness import Draws
from privee.scores.along_rows import row_blocks
from privee.scores.forms import Floats


@register
@dataclasses.dataclass(frozen=True)
class Rounding(Defense):
    """Keeps `digits` decimal digits. Classes can merge, so the ranking (and even the winner) can change."""

    name: ClassVar[str] = "rounding"
    place: ClassVar[int] = 20
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "keeps a few decimal digits; merges classes"
    example: ClassVar[str] = "rounding:digits=2"
    uses_sums: ClassVar[bool] = False
    audited: ClassVar[tuple[str, ...]] = ("rounding:digits=2",)
    advice: ClassVar[Advice] = Advice(
        loses="the cheap rival, without draws; but it merges classes (ranking kept in {kept}) and has no guarantee"
    )

    digits: int

    def __post_init__(self) -> None:
        check_whole(0, 15, digits=self.digits)

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        return np.round(rows, self.digits)

    def _release_in_blocks(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        """Rounded into place: there is nothing to copy."""
        out = np.empty_like(rows)
        for block in row_blocks(rows):
            np.round(rows[block], self.digits, out=out[block])
        return out

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        half = 0.5 * 10.0**-self.digits
        low, high = tighten_by_sum(np.clip(rows - half, 0.0, 1.0), np.clip(rows + half, 0.0, 1.0))
        return condition_on_sum((low + high) / 2, (high - low) ** 2 / 12, low, high)

    @property
    def monotone(self) -> bool:
        """Digits only merge classes."""
        return True

    def telling_scores(self, n_classes: int) -> NDArray[np.float64]:
        """Each score where it is rounded up or down, as near to equal ones as a sum of one allows."""
        unit = 10.0**-self.digits
        lower = (np.floor(1 / (n_classes * unit) - 0.5) + 0.5) * unit
        if lower <= 0:
            return super().telling_scores(n_classes)
        scores = np.full(n_classes, lower)
        scores[: int((1 - n_classes * lower) / unit + 1e-9)] += unit
        scores[-1] += 1 - scores.sum()
        return scores

    def guarantee(self, n_classes: int) -> Guarantee:
        """Every score is known to half a unit of the last digit kept."""
        half = 0.5 * 10.0**-self.digits
        return Guarantee(
            proven="score vectors that round to the same digits give the same release",
            same=f"score vectors with the same digits, that is within {2 * half:g} of each other in every class",
            not_covered=(f"every score to within {half:g}", "most of the ranking", asked_again(n_classes, shown=1)),
            figures={"half_width": half},
        )
