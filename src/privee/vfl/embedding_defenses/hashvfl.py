"""HashVFL by its name: signs in place of an embedding, which are a seal here."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from torch import nn

from privee.errors import PriveeError
from privee.vfl.embedding_defenses.base import EmbeddingDefense, Place
from privee.vfl.embedding_defenses.bottoms import DefendedBottom
from privee.vfl.embedding_defenses.registry import register
from privee.vfl.seal.settings import Seal


@register
@dataclasses.dataclass(frozen=True)
class HashVfl(EmbeddingDefense):
    """So many signs for a record: the seal `signs=...`, drawn once in a record's life, with the bound that seals have.

    Args:
        signs: how many, 1 to 8; more would not be a seal's code.
    """

    name: ClassVar[str] = "hashvfl"
    place: ClassVar[int] = 50
    summary: ClassVar[str] = "signs in place of an embedding: the seal of that many signs"
    published: ClassVar[str] = "Qiu et al. 2022, HashVFL"

    signs: int = 4

    def __post_init__(self) -> None:
        Seal(signs=self.signs)

    @property
    def seal(self) -> Seal:
        """What it is here."""
        return Seal(signs=self.signs)

    def around(self, bottom: nn.Module, place: Place) -> DefendedBottom:
        """A seal makes an encoder of the bottom."""
        raise PriveeError(f"{self.spec} is the seal {self.seal.spec}: give it as one")
