"""GRNA as published by Luo et al. (2021): a generator learns to fill in the unknown columns of all records."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from privee.attacks.base import LUO, Attack, Needs
from privee.attacks.descent import Shuffled
from privee.attacks.metrics import mean_guess
from privee.attacks.registry import register
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class GrnaGenerator(Attack):
    """A network from own columns and noise to the unknown ones, trained until the joint model's scores match.

    Summed squared score error, plus a penalty on the variance of each generated column over the batch, plus, where
    column means are known (from auxiliary rows), one on missing them.

    Args:
        epochs: of Adam; 60 as published.
        batch_size: 64 as published.
        learning_rate: 1e-4 as published.
        variance_weight: 0.25 as published.
        mean_weight: weight of the known means (10 did better than 1 on Drive); 0 leaves them out.
        hidden: widths of the generator's layers.
    """

    name: ClassVar[str] = "grna-generator"
    place: ClassVar[int] = 31
    summary: ClassVar[str] = "Luo's form: a generator that fills in the unknown columns"
    needs: ClassVar[Needs] = Needs(gradients=True)
    reads_only: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ("grna-generator",)
    published: ClassVar[str] = LUO

    epochs: int = 60
    batch_size: int = 64
    learning_rate: float = 1e-4
    variance_weight: float = 0.25
    mean_weight: float = 10.0
    hidden: tuple[int, ...] = (600, 200, 100)

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        unknown_columns = view.model.unknown_columns
        generator = _generator((view.own.shape[1] + unknown_columns, *self.hidden), unknown_columns)
        optimizer = torch.optim.Adam(generator.parameters(), lr=self.learning_rate, fused=True)
        means = mean_guess(view)[0] if view.auxiliary is not None and self.mean_weight else None
        target, batches = view.target, Shuffled(view.rows, self.batch_size)
        state = {"order": batches.order} | generator.state_dict()
        for step in watch.steps("generator", self.epochs * batches.per_epoch, state, optimizer):
            part = batches.at(step)
            optimizer.zero_grad()
            made = _fill_in(generator, view.own[part], unknown_columns)
            self._loss(view.model.scores(view.own[part], made), target[part], made, means).backward()
            optimizer.step()
        with torch.no_grad():
            return _fill_in(generator.eval(), view.own, unknown_columns)

    def _loss(self, scores: Tensor, target: Tensor, made: Tensor, means: Tensor | None) -> Tensor:
        loss = (scores - target).square().sum()
        if len(made) > 1:
            loss = loss + self.variance_weight * made.var(dim=0).sum()
        if means is not None:
            loss = loss + self.mean_weight * (made.mean(dim=0) - means).square().sum()
        return loss


def _generator(sizes: tuple[int, ...], columns: int) -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.LayerNorm(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], columns), nn.Sigmoid())


def _fill_in(generator: nn.Module, own: Tensor, columns: int) -> Tensor:
    """In single precision: a network's fine print, which its inputs do not need."""
    noise = torch.randn(len(own), columns)
    made: Tensor = generator(torch.cat([own.float(), noise], dim=1))
    return made.to(own.dtype)
