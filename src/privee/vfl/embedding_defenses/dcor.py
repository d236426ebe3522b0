"""dCor: the embedding is kept from moving with the columns, by their distance correlation in each batch."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from privee.vfl.embedding_defenses.base import EmbeddingDefense, Place, check_weight
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, with_penalty
from privee.vfl.embedding_defenses.registry import register

SMALLEST = 1e-12
LEAST_TELLING = 0.3
"""Between 0.1, where embeddings told as much as without, and 1, where they told less."""


@register
@dataclasses.dataclass(frozen=True)
class DistanceCorrelation(EmbeddingDefense):
    """The loss adds `weight` times the logarithm of the distance correlation of columns and embedding in a batch.

    Args:
        weight: of that logarithm. The default is the one of public code, and changes nothing that was measured; on
            digits 1 was the first that did (`docs/embedding_defenses.md`).
    """

    name: ClassVar[str] = "dcor"
    place: ClassVar[int] = 20
    summary: ClassVar[str] = "an embedding trained to have little distance correlation with the columns"
    published: ClassVar[str] = "Vepakomma et al. 2020, NoPeek; Sun et al. 2022 for vertical learning"
    benched: ClassVar[tuple[str, ...]] = ("dcor", "dcor:weight=1")
    """As public code has it, and where its page finds most kept for what it costs."""

    weight: float = 1e-4

    def __post_init__(self) -> None:
        check_weight(self.weight)

    @property
    def caution(self) -> str:
        """Weights as small as that of public code do nothing."""
        if self.weight >= LEAST_TELLING:
            return ""
        return (
            f"a weight of {self.weight:g} is so small that nothing may come of it (nothing did up to 0.1): try weight=1"
        )

    def caution_about(self, columns: NDArray[Any]) -> str:
        """Whatever tells two kinds of records apart has a distance correlation of 1 with them: nothing can lower it."""
        if _kinds(columns) > 2:
            return self.caution
        return "its records have no more than two different rows, such as one yes/no column, where dcor can do nothing"

    def around(self, bottom: nn.Module, place: Place) -> DefendedBottom:
        """Nothing but a penalty."""
        return Decorrelated(self, bottom)


class Decorrelated(DefendedBottom):
    """A bottom whose training counts the distance correlation."""

    def __init__(self, defense: DistanceCorrelation, bottom: nn.Module) -> None:
        super().__init__(defense.spec, bottom)
        self._weight = defense.weight

    def trained(self, columns: Tensor, embedding: Tensor) -> Tensor:
        """The embedding as it is; three records or fewer say nothing about it."""
        if len(columns) < 4:
            return embedding
        return with_penalty(embedding, self._weight * distance_correlation(columns.flatten(1), embedding).log())


def distance_correlation(one: Tensor, other: Tensor) -> Tensor:
    """Szekely's: 0 of independent columns and 1 of columns that differ by a turn and a scale, over these records."""
    a, b = _centred(one), _centred(other)
    together, alone = (a * b).mean(), (a.square().mean() * b.square().mean()).sqrt()
    return (together / alone.clamp_min(SMALLEST)).clamp_min(SMALLEST).sqrt()


def _kinds(columns: NDArray[Any]) -> int:
    """How many different rows there are; 3 stands for more than two."""
    rows = columns.reshape(len(columns), -1)
    others = rows[(rows != rows[:1]).any(axis=1)]
    return 1 + (len(others) > 0) + bool((others != others[:1]).any())


def _centred(rows: Tensor) -> Tensor:
    """Distances between records, less the means of both and plus the mean of all."""
    far = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")
    return far - far.mean(dim=0, keepdim=True) - far.mean(dim=1, keepdim=True) + far.mean()
