"""Label only: the predicted class and nothing else."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee
from privee.defenses.ranking_only import expected_scores_by_rank
from privee.defenses.registry import register
from privee.randomness import Draws
from privee.scores.forms import Floats


@register
@dataclasses.dataclass(frozen=True)
class LabelOnly(Defense):
    """Releases 1 for the predicted class (the lowest index among equals) and 0 for the others."""

    name: ClassVar[str] = "label-only"
    place: ClassVar[int] = 80
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "the predicted class alone"
    audited: ClassVar[tuple[str, ...]] = ("label-only",)
    advice: ClassVar[Advice] = Advice(
        keeps=("class",),
        wins="the predicted class is all that must stay exact, and no release of it gives away less",
        loses={
            "class": "hides more (epsilon 0), but its scores are 0 and 1 and mean nothing",
            "top": "keeps the predicted class alone, not the order that was asked for",
            "ranking": "keeps the predicted class alone, not the ranking",
            "records": "tells records of one predicted class apart in nothing (Kendall's tau {between})",
        },
    )

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        out = np.zeros_like(rows)
        out[np.arange(len(rows)), rows.argmax(axis=1)] = 1
        return out

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        """Scores expected of a random probability vector whose largest entry is known."""
        n_classes = rows.shape[1]
        leading = expected_scores_by_rank(n_classes)[0]
        out = np.full_like(rows, (1.0 - leading) / (n_classes - 1))
        out[np.arange(len(rows)), rows.argmax(axis=1)] = leading
        return out

    @property
    def monotone(self) -> bool:
        """The predicted class stands above all others."""
        return True

    def guarantee(self, n_classes: int) -> Guarantee:
        """The release is a function of the predicted class."""
        return Guarantee(
            proven="the release depends on the predicted class alone",
            same="score vectors with the same predicted class",
            epsilon=0.0,
            delta=0.0,
            not_covered=("the predicted class", asked_again(n_classes, shown=1)),
        )
