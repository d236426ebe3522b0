"""Chance while training that does not depend on who else draws: a seed, a role and how many batches there were.

The count is among the weights, so a training that was interrupted goes on with the draws that it would have had, and
roles in one process draw as they do on machines of their own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from privee.vfl.seeds import derived


class Steps(nn.Module):
    """Counts the batches of a training, and gives each its own generator."""

    count: Tensor

    def __init__(self, role: str) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self._role, self._seed, self._total = role, 0, 1

    def start(self, seed: int, total: int) -> None:
        """Before a training of so many steps."""
        self._seed, self._total = seed, max(1, total)

    @property
    def done(self) -> float:
        """How much of the training is over, from 0 to 1."""
        return min(1.0, int(self.count) / self._total)

    def next(self) -> torch.Generator:
        """The draws of the next batch."""
        generator = torch.Generator().manual_seed(derived(self._seed, "seal", self._role, int(self.count)))
        self.count += 1
        return generator


class Dropout(nn.Module):
    """Leaves out a share of the numbers while training; the rest counts for more."""

    def __init__(self, share: float, role: str) -> None:
        super().__init__()
        self.steps, self._share = Steps(role), share

    def forward(self, values: Tensor) -> Tensor:
        """All of them when not training."""
        if not self.training:
            return values
        kept = torch.empty_like(values).bernoulli_(1 - self._share, generator=self.steps.next())
        return values * kept.div_(1 - self._share)


def start_steps(model: nn.Module, seed: int, total: int) -> None:
    """Tell whatever counts steps in a model that a training begins, or goes on."""
    for module in model.modules():
        if isinstance(module, Steps):
            module.start(seed, total)
