"""Architectures by name: the makers of a joint model's bottoms and of its top, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from privee.registry import Named
from privee.vfl.seal.steps import Dropout

EMBEDDING = 64
HIDDEN = 128
WIDE = 256
LEFT_OUT = 0.2
"""Share of such a hidden layer that is left out while it is trained."""

Shape = tuple[int, ...]


class SumTop(nn.Module):
    """Adds the parties' embeddings up: logistic models, whose embeddings are logits already.

    With `learn_level` it adds a level of each class as well, which scaled columns cannot say: their mean is 0.
    """

    bias: nn.Parameter | None

    def __init__(self, n_classes: int | None = None) -> None:
        super().__init__()
        self._n_classes = n_classes
        self.register_parameter("bias", None)

    def learn_level(self) -> None:
        """Learn a level of each class, from 0 on; one that is there is kept."""
        if self.bias is None and self._n_classes is not None:
            self.bias = nn.Parameter(torch.zeros(self._n_classes))

    def forward(self, embeddings: Sequence[Tensor]) -> Tensor:
        """Sum of the embeddings."""
        total = embeddings[0]
        for embedding in embeddings[1:]:
            total = total + embedding
        return total if self.bias is None else total + self.bias

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """A level that was saved has a place; runs of before have none."""
        if f"{prefix}bias" in state_dict:
            self.learn_level()
        else:
            self.bias = None
        super()._load_from_state_dict(state_dict, prefix, *rest)


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


class HiddenTop(nn.Module):
    """A hidden layer for parties of which some send codes: what a code means depends on the other columns.

    Embeddings and the vectors of codes are added up, which is the hidden layer; the last layer of a party's part is
    linear, so nothing stands between.
    """

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.leave_out = Dropout(LEFT_OUT, "top")
        self.leave = nn.Linear(EMBEDDING, n_classes)

    def forward(self, parts: Sequence[Tensor]) -> Tensor:
        """Logits."""
        hidden = parts[0] + parts[1]
        for part in parts[2:]:
            hidden += part
        logits: Tensor = self.leave(self.leave_out(hidden.relu_()))
        return logits


def sum_top(parties: int, n_classes: int) -> nn.Module:
    """Logits are added up; no parameters until a level is learned."""
    return SumTop(n_classes)


def flat_size(shape: Shape) -> int:
    """How many numbers a party's columns of this shape are."""
    size = 1
    for side in shape:
        size *= side
    return size


Bottom = Callable[[Shape, int], nn.Module]
Top = Callable[[int, int], nn.Module]


class Architecture(NamedTuple):
    """How the parts of a joint model are made.

    Attributes:
        bottom: a party's part, from the shape of its columns and the number of classes.
        top: what comes after, from the number of parties and that of classes.
        embedding: how many numbers a party hands over for a record; None for as many as there are classes.
        hidden: whether a hidden layer comes in between where some parties are sealed; else the top is the same.
    """

    bottom: Bottom
    top: Top
    embedding: int | None = EMBEDDING
    hidden: bool = False

    def sealed_top(self, parties: int, n_classes: int) -> nn.Module:
        """What comes after where some parties send codes."""
        return HiddenTop(n_classes) if self.hidden else self.top(parties, n_classes)

    def width(self, n_classes: int) -> int:
        """How many numbers a party hands over for a record."""
        return self.embedding or n_classes


MODELS: Named[Architecture] = Named("model", ("privee.vfl.models",))


def register(*, top: Top, embedding: int | None = EMBEDDING) -> Callable[[Bottom], Bottom]:
    """Add an architecture by decorating the maker of its bottoms.

    Its name is that of the file, so that the command line can list models without loading torch.
    """

    def add(bottom: Bottom) -> Bottom:
        name = bottom.__module__.rpartition(".")[2].replace("_", "-")
        MODELS.add(name, Architecture(bottom, top, embedding, hidden=top is dense_top))
        return bottom

    return add


def architecture(name: str) -> Architecture:
    """The makers of bottoms and top of a named architecture."""
    return MODELS.find(name)
