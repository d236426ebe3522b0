"""The paper's corollary: so many releases that no score is likely to be known too well."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from privee.defenses import Defense
from privee.errors import SettingError
from privee.gateway.budget.base import Option, register
from privee.gateway.budget.releases import Releases
from privee.theory.budget_plan import plan_budget


@register
@dataclasses.dataclass(frozen=True)
class Corollary(Releases):
    """At most `limit` releases, for then some score is known to a share of its value with no more than some chance.

    Attributes:
        within: the share of a score.
        probability: the chance.
    """

    name: ClassVar[str] = "corollary"
    options: ClassVar[tuple[Option, ...]] = (
        Option("within", float, "Or from the paper's corollary: share of a score ..."),
        Option("probability", float, "... that may be hit with this chance.", short="-p"),
    )
    place: ClassVar[int] = 2

    within: float
    probability: float

    @classmethod
    def wanted(cls, given: Mapping[str, Any], defense: Defense, n_classes: int) -> Self | None:
        """If a share is given, and releases add to what is known; the chance is a half unless given."""
        within, chance = given["within"], given["probability"]
        if within is None:
            if chance is not None:
                raise SettingError("a probability needs a tolerance: give `within` too")
            return None
        chance = 0.5 if chance is None else chance
        most = plan_budget(defense, classes=n_classes, within=within, probability=chance).queries
        return None if most is None else cls(most, within, chance)

    def promise_words(self) -> str:
        """What the number of releases was made for."""
        return (
            f"With no more, the chance to know some score to within {100 * self.within:g} % of its value stays at "
            f"or below {100 * self.probability:g} %."
        )
