"""Gradient inversion: adjust the unknown columns until the model's scores match what was released."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.descent import descend, rows_at_once, score_slopes, through
from privee.attacks.log_scores import centred, centred_log
from privee.attacks.registry import register
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch

Loss = Literal["probability", "log-score"]


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class GradientInversion(Attack):
    """Adam on all records at once, clipped to [0, 1] after every step.

    Args:
        loss: mean square in probabilities, as in the paper, or in centred log-scores, which is far stronger.
        iterations: steps.
        learning_rate: of Adam.
        start: the value every unknown column starts from (0 in the paper).
    """

    name: ClassVar[str] = "gradient-inversion"
    place: ClassVar[int] = 20
    summary: ClassVar[str] = "optimises the unknown columns until scores match"
    needs: ClassVar[Needs] = Needs(gradients=True)
    reads_only: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ("gradient-inversion", "gradient-inversion:loss=probability")
    published: ClassVar[str] = (
        'Jiang, Zhou and Grossklags, "Comprehensive analysis of privacy leakage in vertical federated learning during '
        "prediction\", PoPETs 2022 (loss=probability; log-scores are this project's)"
    )

    loss: Loss = "log-score"
    iterations: int = 500
    learning_rate: float = 0.1
    start: float = 0.0

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        wanted = view.target if self.loss == "probability" else centred_log(view.target)
        columns = view.model.unknown_columns
        return descend(
            torch.full((view.rows, columns), self.start, dtype=view.own.dtype),
            lambda part, unknown: through(
                view.model.logits(view.own[part], unknown), unknown, lambda logits: self._pull(logits, wanted[part])
            ),
            watch,
            stage="columns",
            epochs=self.iterations,
            learning_rate=self.learning_rate,
            batch_size=rows_at_once(view.own.shape[1] + columns),
            clip=True,
        )

    def _pull(self, logits: Tensor, wanted: Tensor) -> Tensor:
        """Slopes, in the logits, of the mean square over classes, summed over records: each one's step is its own."""
        if self.loss == "probability":
            return score_slopes(logits, wanted) / logits.shape[1]
        return (centred(logits) - wanted) * (2 / logits.shape[1])  # log-scores that are wanted are centred too
