"""The contract of an embedding defense: settings, and the module that a party trains in place of its bottom."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from privee.defenses import Guarantee
from privee.errors import SettingError
from privee.registry import LAST, write_spec

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from privee.vfl.embedding_defenses.bottoms import DefendedBottom
    from privee.vfl.seal.settings import Seal

NOT_COVERED = (
    "what crossed while the model was trained: embeddings of training records, at every epoch",
    "an attacker with more records to learn from, or with a better learner, than those that were tried",
    "a single record: what was measured is a mean over many",
)
"""Of every one of them."""


class Place(NamedTuple):
    """Where a defense is put.

    Attributes:
        role: the party's name, which its draws depend on.
        columns: how many numbers a record has there.
        width: how many numbers its embedding has.
    """

    role: str
    columns: int
    width: int


class EmbeddingDefense(ABC):
    """What a passive party does to its embedding; a frozen dataclass whose fields are its settings.

    It is part of the party's own model: whoever knows the model (every attacker here does) knows it, and simulates it.
    """

    name: ClassVar[str]
    place: ClassVar[int] = LAST
    summary: ClassVar[str] = ""
    published: ClassVar[str] = ""
    benched: ClassVar[tuple[str, ...]] = ()
    """Its specs on the leaderboard; with its defaults, if none is named."""
    noisy: ClassVar[bool] = False
    """Does it add noise to what is sent at prediction? The party then keeps a secret that decides it."""

    @abstractmethod
    def around(self, bottom: nn.Module, place: Place) -> DefendedBottom:
        """The module that is trained in place of this bottom; weights it adds are drawn by torch's generator."""

    def guarantee(self) -> Guarantee:
        """What is proven: nothing, unless a defense knows better."""
        return Guarantee(not_covered=NOT_COVERED)

    @property
    def caution(self) -> str:
        """What whoever chose these settings should hear at once, such as that nothing measurable came of them."""
        return ""

    def caution_about(self, columns: NDArray[Any]) -> str:
        """The same, knowing what the party has of the training records, (n, ...)."""
        return self.caution

    @property
    def seal(self) -> Seal | None:
        """The seal that this is another name of; None for all but HashVFL."""
        return None

    def settings(self) -> dict[str, Any]:
        """The settings as plain values; `embedding_defense(**settings)` gives the defense back, also through JSON."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {"name": self.name} | {field.name: getattr(self, field.name) for field in fields}

    @property
    def spec(self) -> str:
        """The settings as one string, as the command line takes them: `mid:weight=0.5`."""
        return write_spec(self.name, self)

    def told(self, columns: NDArray[Any] | None = None) -> dict[str, Any]:
        """What it is and what it proves, ready for JSON; with the party's columns it also warns of what these mean."""
        guarantee = self.guarantee()
        return {
            "embedding_defense": self.spec,
            "summary": self.summary,
            "proven": guarantee.proven,
            "caution": self.caution if columns is None else self.caution_about(columns),
            "not_covered": list(guarantee.not_covered),
        }


def check_weight(weight: Any) -> None:
    """Refuse a weight in the loss that is not a finite number above zero."""
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise SettingError(f"weight must be a number above 0, got {weight!r}")
