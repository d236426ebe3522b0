"""What a release costs and what an entity may give away, in whole numbers: costs rounded up, limits rounded down.

Epsilon is counted in trillionths. Advanced composition needs two more sums (see `theory.composition`): the drift,
epsilon tanh(epsilon / 2), and the squares, epsilon ** 2. Then sums fit a total at delta exactly if
drift <= total and squares * 2 log(1 / delta) <= (total - drift) ** 2.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from privee.defenses import Defense
from privee.errors import SettingError
from privee.theory.budget_plan import plan_budget

UNIT = 10**12
CAP = 2**62
"""Sums stop here, short of what a database holds in a whole number; no limit is as high."""
_SLACK = 1 + 1e-12
"""Far more than what floating point loses, so that its rounding never favours whoever asks."""
_LEAST = Fraction(5e-324)
"""What floating point cannot tell from nothing."""


class Price(NamedTuple):
    """What one release costs, or several added up; the last three in trillionths.

    Example:
        >>> Price.of_epsilon(0.1).times(3)
        Price(releases=3, epsilon=300000000000, drift=14987512488, squares=30000000000)
    """

    releases: int = 1
    epsilon: int = 0
    drift: int = 0
    squares: int = 0

    @classmethod
    def of(cls, defense: Defense, n_classes: int) -> Price:
        """Of one release with this defense; without a proof of differential privacy, it is only counted."""
        epsilon = defense.guarantee(n_classes).epsilon
        return cls() if epsilon is None or math.isinf(epsilon) else cls.of_epsilon(epsilon)

    @classmethod
    def of_epsilon(cls, epsilon: float) -> Price:
        """Of one epsilon-differentially private release."""
        exact = Fraction(repr(float(epsilon)))  # as it was written: ten times 0.1 is 1
        drift = exact * (Fraction(math.tanh(epsilon / 2)) + _LEAST) * Fraction(_SLACK)
        return cls(1, *(min(math.ceil(part * UNIT), CAP) for part in (exact, drift, exact**2)))

    def times(self, count: int) -> Price:
        """Of this many."""
        return Price(*(min(part * count, CAP) for part in self))

    def plus(self, other: Price) -> Price:
        """Of both."""
        return Price(*(min(a + b, CAP) for a, b in zip(self, other, strict=True)))


NOTHING = Price(0)


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one entity may give away; None is no limit.

    Attributes:
        releases: how many.
        epsilon: in trillionths, in total.
        delta: above 0, the total may also be kept by advanced composition, which then fails with this probability.
        window: seconds, from an entity's first release on, after which counting starts anew. None: never forgotten.
    """

    releases: int | None = None
    epsilon: int | None = None
    delta: float = 0.0
    window: int | None = None

    def __post_init__(self) -> None:
        for name, smallest in (("releases", 0), ("epsilon", 0), ("window", 1)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not smallest <= value < CAP):
                raise SettingError(f"the limit on {name} must be a whole number from {smallest} on")
        if not 0 <= self.delta < 1:
            raise SettingError("delta must be from 0 to below 1")

    @property
    def spread(self) -> float:
        """What the squares are multiplied with: 2 log(1 / delta), in trillionths."""
        return -2 * math.log(self.delta) * _SLACK * UNIT

    def as_dict(self) -> dict[str, float]:
        """Plain numbers, of those that are set."""
        shown = {"releases": self.releases, "epsilon": None if self.epsilon is None else self.epsilon / UNIT}
        shown |= {"delta": self.delta or None, "window_seconds": self.window}
        return {name: value for name, value in shown.items() if value is not None}

    def show(self, total: Price) -> dict[str, float]:
        """What was spent or asked, in what is limited."""
        shown: dict[str, float] = {"releases": total.releases}
        return shown if self.epsilon is None else shown | {"epsilon": composed(total, self.delta)}

    def share(self, total: Price) -> float:
        """How much of what is allowed is used up, 0 to 1; the highest, if there are several limits."""
        parts = ((total.releases, self.releases), (composed(total, self.delta) * UNIT, self.epsilon))
        shares = [
            0.0 if used == 0 else min(used / limit, 1.0) if limit else 1.0 for used, limit in parts if limit is not None
        ]
        return max(shares, default=0.0)


def fits(limits: Limits, total: Price) -> bool:
    """Whether an entity may have given away this much. The database decides with the same comparisons in `counting`."""
    if limits.releases is not None and total.releases > limits.releases:
        return False
    if limits.epsilon is None or total.epsilon <= limits.epsilon:
        return True
    return limits.delta > 0 and _fits_advanced(limits.epsilon, limits.spread, total.drift, total.squares)


def _fits_advanced(total: int, spread: float, drift: int, squares: int) -> bool:
    left = total - drift
    return left >= 0 and squares < CAP and squares * spread <= float(left) * float(left)


def composed(total: Price, delta: float) -> float:
    """Epsilon of all together: the smaller of basic and advanced composition."""
    basic = total.epsilon / UNIT
    if delta == 0:
        return basic
    return min(basic, total.drift / UNIT + math.sqrt(-2 * math.log(delta) * total.squares / UNIT))


def remaining(limits: Limits, spent: Price, price: Price) -> int | None:
    """How many more at this price fit; None if there is no end."""
    if not fits(limits, spent.plus(price)):
        return 0
    most = []
    if limits.releases is not None and price.releases:
        most.append((limits.releases - spent.releases) // price.releases)
    if limits.epsilon is not None and price.epsilon:
        most.append(_remaining_epsilon(limits, limits.epsilon, spent, price))
    return min(most, default=None)


def _remaining_epsilon(limits: Limits, total: int, spent: Price, price: Price) -> int:
    low = max((total - spent.epsilon) // price.epsilon, 0)  # by basic composition; advanced may allow more
    if limits.delta == 0:
        return low
    advanced, high = partial(_fits_advanced, total, limits.spread), low + 1
    while high < CAP and advanced(spent.drift + high * price.drift, spent.squares + high * price.squares):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if advanced(spent.drift + middle * price.drift, spent.squares + middle * price.squares):
            low = middle
        else:
            high = middle
    return low


def limits_for(
    defense: Defense,
    n_classes: int,
    *,
    within: float | None = None,
    probability: float | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    releases: int | None = None,
    window: int | None = None,
) -> Limits:
    """Limits for a defense; of several counts the smallest holds.

    Args:
        defense: what makes the releases.
        n_classes: of the model.
        within: the paper's corollary: so many releases that some score is known to within this share of its value
        probability: with no more than this chance (a half unless given).
        epsilon: total of all releases, for a defense with pure differential privacy
        delta: that holds with at least one minus this chance (0: always), which allows more releases.
        releases: a count.
        window: seconds after which counting starts anew.

    Example:
        >>> from privee import OrderedDP, PriveeU
        >>> limits_for(PriveeU(rho=0.1), 10, within=0.001).releases, limits_for(OrderedDP(0.5), 10, epsilon=8).epsilon
        (29, 8000000000000)
    """
    if within is None and probability is not None:
        raise SettingError("a probability needs a tolerance: give `within` too")
    if epsilon is None and delta:
        raise SettingError("delta is for a total epsilon: give `epsilon` too")
    if epsilon is not None:
        _check_pure(defense, n_classes, epsilon)
    planned = (
        None
        if within is None
        else plan_budget(
            defense, classes=n_classes, within=within, probability=0.5 if probability is None else probability
        ).queries
    )
    counts = [count for count in (releases, planned) if count is not None]
    total = None if epsilon is None else min(math.floor(Fraction(repr(float(epsilon))) * UNIT), CAP - 1)
    limits = Limits(min(counts, default=None), total, delta, window)
    if not fits(limits, Price.of(defense, n_classes)):
        raise SettingError(f"these limits do not allow a single release with {defense.name}: make them wider")
    return limits


def _check_pure(defense: Defense, n_classes: int, total: float) -> None:
    if isinstance(total, bool) or not 0 < total < math.inf:
        raise SettingError("the total epsilon must be a number above 0")
    guarantee = defense.guarantee(n_classes)
    if guarantee.epsilon is None or math.isinf(guarantee.epsilon) or guarantee.delta:
        raise SettingError(
            f"{defense.name} has no pure differential privacy to add up; ordered-dp has, or limit releases"
        )
