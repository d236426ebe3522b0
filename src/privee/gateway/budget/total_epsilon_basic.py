"""A total epsilon by basic composition: the epsilons of all releases, simply added up."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from privee.defenses import Defense
from privee.durable.whole_numbers import allowed
from privee.errors import SettingError
from privee.gateway.budget.base import BudgetPolicy, Option, register
from privee.gateway.budget.price import UNIT
from privee.gateway.numbers_as_text import number


@register
@dataclasses.dataclass(frozen=True)
class TotalEpsilonBasic(BudgetPolicy):
    """Releases whose epsilons add up to `limit` trillionths at most.

    Example:
        >>> TotalEpsilonBasic(8 * UNIT).used_words(1.5)
        'epsilon 1.5 of 8'
    """

    name: ClassVar[str] = "total-epsilon-basic"
    quantity: ClassVar[str] = "epsilon"
    counter: ClassVar[str] = "epsilon"
    scale: ClassVar[int] = UNIT
    options: ClassVar[tuple[Option, ...]] = (Option("epsilon", float, "Or a total epsilon (for ordered-dp)."),)
    place: ClassVar[int] = 3

    @classmethod
    def wanted(cls, given: Mapping[str, Any], defense: Defense, n_classes: int) -> Self | None:
        """If a total is given, and no delta."""
        if given["epsilon"] is None or given["delta"]:
            return None
        return cls(whole_total(given["epsilon"], defense, n_classes))

    def allowed_words(self) -> str:
        """The total, and how it is composed."""
        return f"a total epsilon of {number(self._shown(self.limit))} ({self._how()})"

    def used_words(self, used: float) -> str:
        """How much of the total."""
        return f"epsilon {number(round(used, 6))} of {number(self._shown(self.limit))}"

    def _how(self) -> str:
        return "simply added up"


def whole_total(epsilon: float, defense: Defense, n_classes: int) -> int:
    """A total in trillionths, rounded down; refused for a defense whose epsilons do not add up."""
    if isinstance(epsilon, bool) or not 0 < epsilon < math.inf:
        raise SettingError("the total epsilon must be a number above 0")
    guarantee = defense.guarantee(n_classes)
    if guarantee.epsilon is None or math.isinf(guarantee.epsilon) or guarantee.delta:
        raise SettingError(
            f"{defense.name} has no pure differential privacy to add up; ordered-dp has, or limit releases"
        )
    return allowed(epsilon)
