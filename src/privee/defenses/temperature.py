"""Temperature scaling: flatter or sharper scores. Reversible, so it hides nothing."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_positive
from privee.defenses.registry import register
from privee.randomness import Draws
from privee.scores import ascending, place, rise_where
from privee.scores.forms import Floats


def powered(rows: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """The rows to a power, rescaled to sum to one; the largest entry is taken out first so that nothing overflows."""
    peak = rows.max(axis=1, keepdims=True)
    scaled = np.divide(rows, peak, out=np.zeros_like(rows), where=peak > 0) ** exponent
    total = scaled.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(scaled, total, out=np.zeros_like(rows), where=total > 0))


@register
@dataclasses.dataclass(frozen=True)
class Temperature(Defense):
    """Releases scores ** (1 / temperature), rescaled to sum to one; above 1 flattens, below 1 sharpens."""

    name: ClassVar[str] = "temperature"
    place: ClassVar[int] = 10
    preserves_order: ClassVar[bool] = True
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "flattens or sharpens; anyone can undo it"
    example: ClassVar[str] = "temperature:temperature=2"
    advice: ClassVar[Advice] = Advice(unprotective="one to one with a public setting: anyone can undo it")

    temperature: float

    def __post_init__(self) -> None:
        check_positive(temperature=self.temperature)

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        order, values = ascending(rows)
        flat = powered(values.astype(np.float64), 1.0 / self.temperature).astype(rows.dtype)
        return place(order, rise_where(values, flat))

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        return powered(np.maximum(rows, 0.0), self.temperature)

    def guarantee(self, n_classes: int) -> Guarantee:
        """Nothing: the map is one to one and its only parameter is public."""
        everything = "everything: raising the release to the temperature gives the scores back"
        return Guarantee(not_covered=(everything, asked_again(n_classes)))
