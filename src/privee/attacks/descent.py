"""Adam on the unknown columns themselves, which several attacks share, in mini-batches that a checkpoint can resume."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from privee.attacks.watch import Watch

Slopes = Callable[[slice, Tensor], Tensor]
"""The slopes, in some records' unknown columns, of what is minimised: given which they are, and those columns."""
DECAYS, SMALLEST = (0.9, 0.999), 1e-8
"""Adam's, as everybody has them."""


def descend(
    start: Tensor,
    slopes: Slopes,
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
        slopes: of a part of the records; records do not influence each other.
        watch: sees every mini-batch.
        stage: the loop's name in checkpoints.
        epochs: passes over the records.
        learning_rate: of Adam.
        batch_size: records given to the model at once.
        step_per_batch: a step of Adam after every mini-batch, not after every epoch.
        clip: keep columns in [0, 1] after every step.
    """
    unknown = start.clone()
    gradient, first, second = (torch.zeros_like(start) for _ in range(3))
    parts = in_turn(len(start), batch_size)
    state = {"unknown": unknown, "gradient": gradient, "first": first, "second": second}
    for step in watch.steps(stage, epochs * len(parts), state):
        part = parts[step % len(parts)]
        gradient[part] = slopes(part, unknown[part].requires_grad_())
        if step_per_batch or part is parts[-1]:
            count = step + 1 if step_per_batch else (step + 1) // len(parts)
            adam(unknown, gradient, first, second, learning_rate, count)
            gradient.zero_()
            if clip:
                unknown.clamp_(0.0, 1.0)
    return unknown


def adam(values: Tensor, gradient: Tensor, first: Tensor, second: Tensor, rate: float, count: int) -> None:
    """The step with this number, from 1 on, in place; of one small tensor in half the time that torch's takes.

    Args:
        values: what is moved.
        gradient: at these values.
        first: decaying mean of gradients so far.
        second: of their squares.
        rate: how far to go.
        count: of steps, with this one.
    """
    first.lerp_(gradient, 1 - DECAYS[0])
    second.mul_(DECAYS[1]).addcmul_(gradient, gradient, value=1 - DECAYS[1])
    size = second.sqrt().div_(math.sqrt(1 - DECAYS[1] ** count)).add_(SMALLEST)
    values.addcdiv_(first, size, value=-rate / (1 - DECAYS[0] ** count))


def slopes_of(loss: Callable[[slice, Tensor], Tensor]) -> Slopes:
    """Of a loss that is summed over parts."""

    def slopes(part: slice, unknown: Tensor) -> Tensor:
        (found,) = torch.autograd.grad(loss(part, unknown), unknown)
        return found

    return slopes


def through(logits: Tensor, unknown: Tensor, pull: Callable[[Tensor], Tensor]) -> Tensor:
    """Slopes in the columns, given those in the logits: written out, they take a third of the time of found ones."""
    (found,) = torch.autograd.grad(logits, unknown, pull(logits.detach()))
    return found


def score_slopes(logits: Tensor, target: Tensor) -> Tensor:
    """Slopes, in the logits, of the summed squares of scores minus targets."""
    scores = torch.softmax(logits, dim=1)
    pulled = (scores - target).mul_(scores)
    return pulled.sub_(scores.mul_(pulled.sum(dim=1, keepdim=True))).mul_(2.0)


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
