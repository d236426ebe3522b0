"""Adversarial regularisation: the party trains against an adversary of its own that rebuilds its columns."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from privee.vfl.embedding_defenses.base import EmbeddingDefense, Place, check_weight
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, with_penalty
from privee.vfl.embedding_defenses.registry import register

HIDDEN = 128
STEPS = 5
"""Of the adversary for each of the party's: one that lags behind is fooled, not kept from anything."""
RATE = 3e-3
SMALLEST = 1e-6


@register
@dataclasses.dataclass(frozen=True)
class Adversarial(EmbeddingDefense):
    """A network at the party learns to rebuild its columns from the embedding; the embedding learns to prevent it.

    Nasr et al. train against a membership adversary; this is the same game about columns. They take turns: with each
    batch the adversary takes some steps, then the embedding one. The adversary's error counts in units of the columns'
    own variance, so that 1 is a guess.

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
        self.adversary = Adversary(place)

    def trained(self, columns: Tensor, embedding: Tensor) -> Tensor:
        """The embedding as it is; the adversary's error, after it has learned, is what it wants more of."""
        self.adversary.learn(columns, embedding.detach())
        return with_penalty(embedding, -self._weight * self.adversary.error(columns, embedding))


class Adversary(nn.Module):
    """From embeddings to columns, with an optimizer (Adam) of its own: what the party's optimizer does is not for it.

    The optimizer's state is among the weights, so that an interrupted training goes on with it.
    """

    first: Tensor
    second: Tensor
    taken: Tensor

    def __init__(self, place: Place) -> None:
        super().__init__()
        layers = (nn.Linear(place.width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
        self.network = nn.Sequential(*layers, nn.Linear(HIDDEN, place.columns), nn.Sigmoid())
        size = len(parameters_to_vector(self.network.parameters()))
        self.register_buffer("first", torch.zeros(size))
        self.register_buffer("second", torch.zeros(size))
        self.register_buffer("taken", torch.zeros((), dtype=torch.int64))
        self.network.requires_grad_(requires_grad=False)

    def error(self, columns: Tensor, embedding: Tensor) -> Tensor:
        """In units of the columns' variance in this batch.

        It gets each number of the embedding on one scale: growing or shrinking must not be a way to escape.
        """
        middle, spread = embedding.mean(dim=0), embedding.var(dim=0, unbiased=False)
        found = self.network((embedding - middle) / (spread + SMALLEST).sqrt())
        truth = columns.flatten(1)
        return (found - truth).square().mean() / truth.var(dim=0, unbiased=False).mean().clamp_min(SMALLEST)

    def learn(self, columns: Tensor, embedding: Tensor) -> None:
        """Some steps towards a smaller error on this batch."""
        parameters = list(self.network.parameters())
        self.network.requires_grad_(requires_grad=True)
        for _ in range(STEPS):
            slopes = torch.autograd.grad(self.error(columns, embedding), parameters)
            self._step(parameters, parameters_to_vector(slopes))
        self.network.requires_grad_(requires_grad=False)

    @torch.no_grad()
    def _step(self, parameters: list[nn.Parameter], slope: Tensor) -> None:
        self.taken += 1
        self.first.lerp_(slope, 0.1)
        self.second.lerp_(slope.square(), 0.001)
        first = self.first / (1 - 0.9 ** int(self.taken))
        second = self.second / (1 - 0.999 ** int(self.taken))
        moved = parameters_to_vector(parameters) - RATE * first / (second.sqrt() + 1e-8)
        vector_to_parameters(moved, parameters)
