"""Gradient inversion: adjust the unknown columns until the model's scores match what was released."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.logs import centred, centred_log
from privee.attacks.view import AttackerView

Loss = Literal["probability", "log-score"]


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
    summary: ClassVar[str] = "optimises the unknown columns until scores match"
    needs: ClassVar[Needs] = Needs(gradients=True)

    loss: Loss = "log-score"
    iterations: int = 500
    learning_rate: float = 0.1
    start: float = 0.0

    def _reconstruct(self, view: AttackerView) -> Tensor:
        wanted = view.target if self.loss == "probability" else centred_log(view.target)
        unknown = torch.full(
            (view.rows, view.model.unknown_columns), self.start, dtype=view.own.dtype, requires_grad=True
        )
        optimizer = torch.optim.Adam([unknown], lr=self.learning_rate)
        for _ in range(self.iterations):
            optimizer.zero_grad()
            self._distance(view.model.logits(view.own, unknown), wanted).backward()
            optimizer.step()
            with torch.no_grad():
                unknown.clamp_(0.0, 1.0)
        return unknown.detach()

    def _distance(self, logits: Tensor, wanted: Tensor) -> Tensor:
        """Summed over records, so that each one's step is its own."""
        if self.loss == "probability":
            return (torch.softmax(logits, dim=1) - wanted).square().mean(dim=1).sum()
        return (centred(logits) - wanted).square().mean(dim=1).sum()
