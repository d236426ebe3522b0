"""Chance while training that does not depend on who else draws: a seed, a role and how many batches there were.

The count is among the weights, so a training that was interrupted goes on with the draws that it would have had, and
roles in one process draw as they do on machines of their own. Numbers are drawn once, at the start; a batch takes a
piece of them from a random place on, which costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from privee.vfl.seeds import derived

DRAWN = 1 << 18
"""Numbers that are drawn at the start; a batch that needs more gets a longer row of them."""

ODD = 0x9E3779B97F4A7C15

Make = Callable[[Tensor], Tensor]


class Steps(nn.Module):
    """Counts the batches of a training, and gives each its own draws, made from uniform ones.

    Args:
        role: whose they are.
        make: what becomes of numbers that are uniform between 0 and 1, both excluded.
    """

    saved_count: Tensor

    def __init__(self, role: str, make: Make) -> None:
        super().__init__()
        self.register_buffer("saved_count", torch.zeros((), dtype=torch.int64))
        self._role, self._make, self._total = role, make, 1
        self.count, self._seed, self._from = 0, 0, 0
        self._drawn: Tensor | None = None

    def start(self, seed: int, total: int) -> None:
        """Before a training of so many steps."""
        self._seed, self._total, self._drawn = seed, max(1, total), None
        self._from = derived(seed, "seal", self._role, "places")

    @property
    def done(self) -> float:
        """How much of the training is over, from 0 to 1."""
        return min(1.0, self.count / self._total)

    def next(self, rows: int, columns: int) -> Tensor:
        """The draws of the next batch, (rows, columns); not to be written to."""
        size = rows * columns
        if self._drawn is None or len(self._drawn) < 2 * size:
            generator = torch.Generator().manual_seed(derived(self._seed, "seal", self._role))
            uniform = torch.rand(max(DRAWN, 4 * size), generator=generator)
            self._drawn = self._make(uniform.clamp_(1e-9, 1 - 1e-7))
        self.count += 1
        # Multiples of a large odd number go through all places in an order that looks like none.
        place = ((self._from + self.count * ODD) % 2**64 >> 20) % (len(self._drawn) - size)
        return self._drawn.as_strided((rows, columns), (columns, 1), place)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """The count is a plain number while steps are taken, and a tensor among the weights."""
        self.saved_count.fill_(self.count)
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *rest)
        self.count = int(self.saved_count)


class Dropout(nn.Module):
    """Leaves out a share of the numbers while training; the rest counts for more."""

    def __init__(self, share: float, role: str) -> None:
        super().__init__()
        self.steps = Steps(role, lambda uniform: (uniform >= share).float().div_(1 - share))

    def forward(self, values: Tensor) -> Tensor:
        """All of them when not training."""
        return values * self.steps.next(*values.shape) if self.training else values


def start_steps(model: nn.Module, seed: int, total: int) -> None:
    """Tell whatever counts steps in a model that a training begins, or goes on."""
    for module in model.modules():
        if isinstance(module, Steps):
            module.start(seed, total)
