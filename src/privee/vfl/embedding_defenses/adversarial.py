"""Adversarial regularisation: the party trains against an adversary of its own that rebuilds its columns."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from privee.vfl.embedding_defenses.base import EmbeddingDefense, Place, check_weight
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, with_penalty
from privee.vfl.embedding_defenses.registry import register

HIDDEN = 128
SMALLEST = 1e-6


@register
@dataclasses.dataclass(frozen=True)
class Adversarial(EmbeddingDefense):
    """A network at the party learns to rebuild its columns from the embedding; the embedding learns to prevent it.

    Nasr et al. train against a membership adversary; this is the same game about columns. Both learn in the same step
    (gradient reversal). Its error is counted in units of the columns' own variance, so that 1 is a guess.

    Args:
        weight: how much the adversary's error counts beside the task.
    """

    name: ClassVar[str] = "adversarial"
    place: ClassVar[int] = 40
    summary: ClassVar[str] = "an embedding trained against a network that rebuilds the columns from it"
    published: ClassVar[str] = "Nasr et al. 2018, adversarial regularisation, with columns for membership"

    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.weight)

    def around(self, bottom: nn.Module, place: Place) -> DefendedBottom:
        """An adversary beside the bottom; it stays with the party."""
        return Opposed(self, bottom, place)


class Opposed(DefendedBottom):
    """A bottom with an adversary; after the training the adversary is idle."""

    def __init__(self, defense: Adversarial, bottom: nn.Module, place: Place) -> None:
        super().__init__(defense.spec, bottom)
        self._weight = defense.weight
        layers = (nn.Linear(place.width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
        self.adversary = nn.Sequential(*layers, nn.Linear(HIDDEN, place.columns), nn.Sigmoid())

    def trained(self, columns: Tensor, embedding: Tensor) -> Tensor:
        """The embedding as it is; the adversary's error comes back to it with its sign turned."""
        return with_penalty(embedding, self.error(columns, reversed_gradient(embedding, self._weight)))

    def error(self, columns: Tensor, embedding: Tensor) -> Tensor:
        """Of the adversary, in units of the columns' variance in this batch.

        It gets each number of the embedding on one scale: growing or shrinking must not be a way to escape.
        """
        middle, spread = embedding.mean(dim=0), embedding.var(dim=0, unbiased=False)
        found = self.adversary((embedding - middle) / (spread + SMALLEST).sqrt())
        truth = columns.flatten(1)
        return (found - truth).square().mean() / truth.var(dim=0, unbiased=False).mean().clamp_min(SMALLEST)


class _Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: float) -> Tensor:
        ctx.weight = weight
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return -ctx.weight * gradients[0], None


def reversed_gradient(values: Tensor, weight: float) -> Tensor:
    """The same values; what comes back through them has its sign turned, and counts so much."""
    found: Tensor = _Reversed.apply(values, weight)
    return found
