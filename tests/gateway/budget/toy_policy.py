"""A policy for a test, which puts this file into a copy of the package: so many numbers, one for each class."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from privee.defenses import Defense
from privee.gateway.budget.base import BudgetPolicy, Option
from privee.gateway.budget.registry import register
from privee.gateway.numbers_as_text import counted, number


@register
@dataclasses.dataclass(frozen=True)
class ShownNumbers(BudgetPolicy):
    """Releases that show at most `limit` numbers together, as many in each as there are classes."""

    name: ClassVar[str] = "shown-numbers"
    quantity: ClassVar[str] = "numbers"
    options: ClassVar[tuple[Option, ...]] = (
        Option("shown_numbers", int, "Numbers that each entity may show, one per class.", least=1),
    )

    classes: int

    @classmethod
    def wanted(cls, given: Mapping[str, Any], defense: Defense, n_classes: int) -> Self | None:
        """If a number is given."""
        return None if given["shown_numbers"] is None else cls(given["shown_numbers"], n_classes)

    @property
    def weight(self) -> int:
        """What one release shows."""
        return self.classes

    def allowed_words(self) -> str:
        """How many."""
        return counted(self.limit, "number")

    def used_words(self, used: float) -> str:
        """How many of how many."""
        return f"{number(used)} of {counted(self.limit, 'number')}"
