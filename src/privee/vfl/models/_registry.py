"""Architectures by name: the makers of a joint model's bottoms and of its top."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from privee.registry import Named
from privee.vfl.models._parts import EMBEDDING, Shape

Bottom = Callable[[Shape, int], nn.Module]
Top = Callable[[int, int], nn.Module]


class Architecture(NamedTuple):
    """How the parts of a joint model are made.

    Attributes:
        bottom: a party's part, from the shape of its columns and the number of classes.
        top: what comes after, from the number of parties and that of classes.
        embedding: how many numbers a party hands over for a record; None for as many as there are classes.
    """

    bottom: Bottom
    top: Top
    embedding: int | None = EMBEDDING

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
        MODELS.add(name, Architecture(bottom, top, embedding))
        return bottom

    return add


def architecture(name: str) -> Architecture:
    """The makers of bottoms and top of a named architecture."""
    return MODELS.find(name)
