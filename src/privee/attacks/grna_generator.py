"""GRNA as published by Luo et al. (2021): a generator learns to fill in the unknown columns of all records."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from privee.attacks.base import LUO, Attack, Needs
from privee.attacks.descent import Shuffled, score_slopes, through
from privee.attacks.metrics import mean_guess
from privee.attacks.registry import register
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch
from privee.attacks.white_box import WhiteBox


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
            own = view.own[part]
            drawn = _generated(generator, own, unknown_columns)
            drawn.backward(self._slopes(view.model, own, _widened(drawn, own), target[part], means).to(drawn.dtype))
            optimizer.step()
        with torch.no_grad():
            return _widened(_generated(generator.eval(), view.own, unknown_columns), view.own)

    def _slopes(self, model: WhiteBox, own: Tensor, made: Tensor, target: Tensor, means: Tensor | None) -> Tensor:
        """Of the loss, in the columns made: written out but for the model's own, see `descent.through`."""
        asked = made.requires_grad_()
        found = through(model.logits(own, asked), asked, lambda logits: score_slopes(logits, target))
        made, middle = made.detach(), made.detach().mean(dim=0)
        if len(made) > 1:
            found = found.add(made - middle, alpha=2 * self.variance_weight / (len(made) - 1))
        return found if means is None else found.add(middle - means, alpha=2 * self.mean_weight / len(made))


def _generator(sizes: tuple[int, ...], columns: int) -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.LayerNorm(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], columns), nn.Sigmoid())


def _generated(generator: nn.Module, own: Tensor, columns: int) -> Tensor:
    """In single precision: a network's fine print, which its inputs do not need."""
    made: Tensor = generator(torch.cat([own.float(), torch.randn(len(own), columns)], dim=1))
    return made


def _widened(drawn: Tensor, own: Tensor) -> Tensor:
    """What was generated, as any other columns."""
    return drawn.detach().to(own.dtype)
