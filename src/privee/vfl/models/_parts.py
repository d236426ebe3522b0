"""What the architectures share: tops, and the width of an embedding."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

EMBEDDING = 64
HIDDEN = 128
WIDE = 256

Shape = tuple[int, ...]


class SumTop(nn.Module):
    """Adds the parties' embeddings up: logistic models, whose embeddings are logits already."""

    def forward(self, embeddings: Sequence[Tensor]) -> Tensor:
        """Sum of the embeddings."""
        total = embeddings[0]
        for embedding in embeddings[1:]:
            total = total + embedding
        return total


class ConcatTop(nn.Module):
    """Puts the embeddings side by side and applies any module that gives logits."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, embeddings: Sequence[Tensor]) -> Tensor:
        """The head on the concatenated embeddings."""
        logits: Tensor = self.head(torch.cat(tuple(embeddings), dim=1))
        return logits


def dense_top(parties: int, n_classes: int) -> nn.Module:
    """One layer for two parties; for more, two layers, 256 wide."""
    width = EMBEDDING * parties
    if parties == 2:
        return ConcatTop(nn.Linear(width, n_classes))
    return ConcatTop(nn.Sequential(nn.Linear(width, WIDE), nn.ReLU(), nn.Linear(WIDE, n_classes)))


def sum_top(parties: int, n_classes: int) -> nn.Module:
    """No parameters: logits are added up."""
    return SumTop()


def flat_size(shape: Shape) -> int:
    """How many numbers a party's columns of this shape are."""
    size = 1
    for side in shape:
        size *= side
    return size
