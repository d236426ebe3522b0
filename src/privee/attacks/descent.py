"""Adam on the unknown columns themselves, which several attacks share, in mini-batches that a checkpoint can resume."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from privee.attacks.watch import Watch

Loss = Callable[[slice, Tensor], Tensor]
"""The loss of some records, given which they are and their unknown columns; summed over parts, it is minimised."""


def descend(
    start: Tensor,
    loss: Loss,
    watch: Watch,
    *,
    stage: str,
    epochs: int,
    learning_rate: float,
    batch_size: int,
    step_per_batch: bool = False,
    clip: bool = False,
) -> Tensor:
    """The unknown columns after this many epochs.

    Args:
        start: where they start from, (n, columns).
        loss: of a part of the records; records do not influence each other.
        watch: sees every mini-batch.
        stage: the loop's name in checkpoints.
        epochs: passes over the records.
        learning_rate: of Adam.
        batch_size: records given to the model at once.
        step_per_batch: a step of Adam after every mini-batch, not after every epoch.
        clip: keep columns in [0, 1] after every step.
    """
    unknown, gradient = start.clone(), torch.zeros_like(start)
    unknown.grad = gradient
    optimizer = torch.optim.Adam([unknown], lr=learning_rate, fused=True)
    parts = in_turn(len(start), batch_size)
    state = {"unknown": unknown, "gradient": gradient}
    for step in watch.steps(stage, epochs * len(parts), state, optimizer):
        part = parts[step % len(parts)]
        piece = unknown[part].requires_grad_()
        (gradient[part],) = torch.autograd.grad(loss(part, piece), piece)
        if step_per_batch or part is parts[-1]:
            optimizer.step()
            gradient.zero_()
            if clip:
                unknown.clamp_(0.0, 1.0)
    return unknown


AT_ONCE = 1 << 18
"""Numbers (records times columns) that a model is given at once: bounds memory, and the time a step takes."""


class Shuffled:
    """Mini-batches in a new random order each epoch; `order` is all there is to restore.

    Args:
        rows: how many records there are.
        size: records per mini-batch.
    """

    def __init__(self, rows: int, size: int) -> None:
        self.order, self._size = torch.arange(rows), size
        self.per_epoch = -(-rows // size)

    def at(self, step: int) -> Tensor:
        """Row numbers of a step; call once for each, in turn."""
        place = step % self.per_epoch
        if place == 0:
            self.order.copy_(torch.randperm(len(self.order)))
        return self.order[place * self._size :][: self._size]


def in_turn(rows: int, size: int) -> list[slice]:
    """All records in order, at most `size` at once."""
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def rows_at_once(columns: int) -> int:
    """How many records of this many columns to give a model at once."""
    return max(1, AT_ONCE // max(1, columns))
