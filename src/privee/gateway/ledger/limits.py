"""What an entity may give away: budget policies that all must hold, and when counting starts anew."""

from __future__ import annotations

import dataclasses
from typing import Any

from privee.defenses import Defense
from privee.errors import SettingError
from privee.gateway.budget.base import BudgetPolicy, wanted_policies
from privee.gateway.budget.price import CAP, Price


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one entity may give away.

    Attributes:
        policies: what holds, all at once; none is no limit.
        window: seconds, from an entity's first release on, after which counting starts anew. None: never forgotten.
        variants: how many different questions there may be about one entity, ever; None: any number. No window ends it.
    """

    policies: tuple[BudgetPolicy, ...] = ()
    window: int | None = None
    variants: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("window", self.window), ("variants", self.variants)):
            if value is not None and (type(value) is not int or not 1 <= value < CAP):
                raise SettingError(f"the limit on {name} must be a whole number from 1 on")

    def as_dict(self) -> dict[str, float]:
        """Plain numbers, of those that are set."""
        shown = {name: value for policy in self.policies for name, value in policy.as_dict().items()}
        return shown if self.window is None else shown | {"window_seconds": self.window}

    def show(self, total: Price) -> dict[str, float]:
        """What was spent or asked: releases, and what else is limited."""
        return {"releases": total.releases} | {policy.quantity: policy.used(total) for policy in self.policies}

    def share(self, total: Price) -> float:
        """How much of what is allowed is used up, 0 to 1; the highest, if there are several policies."""
        return max((policy.share(total) for policy in self.policies), default=0.0)

    def part(self, share: int) -> Limits:
        """What is left of them for somebody with this share, in trillionths; rounded down."""
        return Limits(tuple(policy.part(share) for policy in self.policies), self.window, self.variants)


def fits(limits: Limits, total: Price) -> bool:
    """Whether an entity may have given away this much. The database decides by the policies' own conditions."""
    for policy in limits.policies:  # noqa: SIM110 - for every charge: a generator takes longer than what it decides
        if not policy.fits(total):
            return False
    return True


def remaining(limits: Limits, spent: Price, price: Price) -> int | None:
    """How many more at this price fit; None if there is no end."""
    found = (policy.remaining(spent, price) for policy in limits.policies)
    return min((most for most in found if most is not None), default=None)


def limits_for(
    defense: Defense, n_classes: int, *, window: int | None = None, variants: int | None = None, **options: Any
) -> Limits:
    """Limits for a defense.

    Args:
        defense: what makes the releases.
        n_classes: of the model.
        window: seconds after which counting starts anew.
        variants: different questions about one entity, ever.
        options: of the budget policies, by name; see `privee gateway serve --help`.

    Example:
        >>> from privee import OrderedDP, PriveeU
        >>> limits_for(PriveeU(rho=0.1), 10, within=0.001).as_dict()
        {'releases': 29}
        >>> limits_for(OrderedDP(0.5), 10, epsilon=8, window=60).as_dict()
        {'epsilon': 8.0, 'window_seconds': 60}
    """
    limits = Limits(wanted_policies(options, defense, n_classes), window, variants)
    if not fits(limits, Price.of(defense, n_classes)):
        raise SettingError(f"these limits do not allow a single release with {defense.name}: make them wider")
    return limits
