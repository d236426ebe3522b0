"""So many releases, whatever they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from privee.defenses import Defense
from privee.gateway.budget.base import BudgetPolicy, Option, register
from privee.gateway.numbers_as_text import counted, number


@register
@dataclasses.dataclass(frozen=True)
class Releases(BudgetPolicy):
    """At most `limit` releases.

    Example:
        >>> Releases(4).used_words(3)
        '3 of 4 releases'
    """

    name: ClassVar[str] = "releases"
    quantity: ClassVar[str] = "releases"
    options: ClassVar[tuple[Option, ...]] = (Option("releases", int, "Releases that each entity may give.", least=1),)
    place: ClassVar[int] = 1

    @classmethod
    def wanted(cls, given: Mapping[str, Any], defense: Defense, n_classes: int) -> Self | None:
        """If a number is given."""
        return None if given["releases"] is None else cls(given["releases"])

    def allowed_words(self) -> str:
        """How many releases an entity may give, in words."""
        return counted(self.limit, "release")

    def used_words(self, used: float) -> str:
        """How many of how many."""
        return f"{number(used)} of {counted(self.limit, 'release')}"
