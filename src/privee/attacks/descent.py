"""Adam on the unknown columns themselves, which several attacks share."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from privee.attacks.batches import in_turn
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
