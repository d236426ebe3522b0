"""Mini-batches of records whose position a checkpoint can hold."""

from __future__ import annotations

import torch
from torch import Tensor

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
