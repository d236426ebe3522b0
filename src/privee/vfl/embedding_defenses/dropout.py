"""Dropout at the embedding: numbers are left out at random while training."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from torch import Tensor, nn

from privee.errors import SettingError
from privee.vfl.embedding_defenses.base import EmbeddingDefense, Place
from privee.vfl.embedding_defenses.bottoms import DefendedBottom
from privee.vfl.embedding_defenses.registry import register
from privee.vfl.seal.steps import Dropout as LeaveOut


@register
@dataclasses.dataclass(frozen=True)
class Dropout(EmbeddingDefense):
    """Regularised training, and nothing at prediction: whole embeddings are sent then.

    Args:
        rate: the share of an embedding's numbers that is left out, above 0 and below 1.
    """

    name: ClassVar[str] = "dropout"
    place: ClassVar[int] = 30
    summary: ClassVar[str] = "numbers of the embedding left out at random while training"
    published: ClassVar[str] = "Srivastava et al. 2014"

    rate: float = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, int | float) or not 0 < self.rate < 1:
            raise SettingError(f"rate must be above 0 and below 1, got {self.rate!r}")

    @property
    def caution(self) -> str:
        """At no rate that was tried."""
        return "whole embeddings are sent, and they told as much as without it wherever that was measured"

    def around(self, bottom: nn.Module, place: Place) -> DefendedBottom:
        """The same bottom, and a count of batches."""
        return Thinned(self, bottom, place)


class Thinned(DefendedBottom):
    """A bottom of whose embedding some numbers are left out in training."""

    def __init__(self, defense: Dropout, bottom: nn.Module, place: Place) -> None:
        super().__init__(defense.spec, bottom)
        self.leave_out = LeaveOut(defense.rate, f"{place.role} dropout")

    def trained(self, columns: Tensor, embedding: Tensor) -> Tensor:
        """The rest counts for more."""
        kept: Tensor = self.leave_out(embedding)
        return kept
