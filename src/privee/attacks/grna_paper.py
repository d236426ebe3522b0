"""GRNA as the paper's settings describe it: optimise the unknown columns themselves, from normal starts, unclipped."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.descent import descend, in_turn, score_slopes, through
from privee.attacks.registry import register
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class GrnaPaper(Attack):
    """Mean square error in probabilities, Adam, starts from N(0, 1), nothing keeps columns in [0, 1].

    Args:
        epochs: passes over the records.
        learning_rate: of Adam; 0.01, and 0.1 for MNIST.
        batch_size: records per mini-batch.
        step_per_batch: one step per mini-batch (the paper's CIFAR runs) instead of one per epoch on the averaged loss.
    """

    name: ClassVar[str] = "grna-paper"
    place: ClassVar[int] = 30
    summary: ClassVar[str] = "the paper's form: optimises unclipped columns from normal starts"
    needs: ClassVar[Needs] = Needs(gradients=True)
    reads_only: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ("grna-paper",)
    published: ClassVar[str] = "the GRNA of the PRIVEE paper's tables, as its settings describe it"

    epochs: int = 100
    learning_rate: float = 0.01
    batch_size: int = 128
    step_per_batch: bool = False

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        target, batches = view.target, len(in_turn(view.rows, self.batch_size))

        def slopes(part: slice, unknown: Tensor) -> Tensor:
            """Of the mean over all scores of a mini-batch, and over mini-batches."""
            wanted, logits = target[part], view.model.logits(view.own[part], unknown)
            return through(logits, unknown, lambda logits: score_slopes(logits, wanted) / (wanted.numel() * batches))

        return descend(
            torch.randn(view.rows, view.model.unknown_columns, dtype=view.own.dtype),
            slopes,
            watch,
            stage="columns",
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            step_per_batch=self.step_per_batch,
        )
