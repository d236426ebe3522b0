"""A total epsilon by basic or advanced composition, whichever allows more.

By advanced composition sums fit a total at delta exactly if drift <= total and
squares * 2 log(1 / delta) <= (total - drift) ** 2.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from privee.defenses import Defense
from privee.errors import SettingError
from privee.gateway.budget.base import Option, register
from privee.gateway.budget.price import CAP, SLACK, UNIT, Price
from privee.gateway.budget.total_epsilon_basic import TotalEpsilonBasic, whole_total


@register
@dataclasses.dataclass(frozen=True)
class TotalEpsilonAdvanced(TotalEpsilonBasic):
    """Releases whose epsilons compose to `limit` trillionths at most, which may fail with the chance `delta`."""

    name: ClassVar[str] = "total-epsilon-advanced"
    options: ClassVar[tuple[Option, ...]] = (
        Option("delta", float, "Above 0: advanced composition where it allows more.", default=0.0),
    )
    place: ClassVar[int] = 4

    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.delta < 1:
            raise SettingError("delta must be from 0 to below 1")

    @classmethod
    def wanted(cls, given: Mapping[str, Any], defense: Defense, n_classes: int) -> Self | None:
        """If a total is given, and a delta."""
        if not given["delta"]:
            return None
        if given["epsilon"] is None:
            raise SettingError("delta is for a total epsilon: give `epsilon` too")
        return cls(whole_total(given["epsilon"], defense, n_classes), given["delta"])

    @functools.cached_property
    def spread(self) -> float:
        """What the squares are multiplied with: 2 log(1 / delta), in trillionths."""
        return -2 * math.log(self.delta) * SLACK * UNIT

    def fits(self, total: Price) -> bool:
        """By basic or by advanced composition."""
        return super().fits(total) or _fits_advanced(self.limit, self.spread, total.drift, total.squares)

    def condition(self, sums: Mapping[str, str]) -> str:
        """The same in the same floating point."""
        left = f"({self.limit} - ({sums['drift']}))"
        real = f"CAST({left} AS DOUBLE PRECISION)"
        squares = f"CAST(({sums['squares']}) AS DOUBLE PRECISION) * CAST({self.spread!r} AS DOUBLE PRECISION)"
        advanced = f"({left} >= 0 AND ({sums['squares']}) < {CAP} AND {squares} <= {real} * {real})"
        return f"{super().condition(sums)} OR {advanced}"

    def remaining(self, spent: Price, price: Price) -> int | None:
        """As basic composition allows at least; beyond that by bisection."""
        basic = super().remaining(spent, price)
        if basic is None or (basic == 0 and not self.fits(spent.plus(price))):
            return basic
        low = max(basic, 0)
        advanced, high = functools.partial(_fits_advanced, self.limit, self.spread), low + 1
        while high < CAP and advanced(spent.drift + high * price.drift, spent.squares + high * price.squares):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if advanced(spent.drift + middle * price.drift, spent.squares + middle * price.squares):
                low = middle
            else:
                high = middle
        return low

    def used(self, total: Price) -> float:
        """Epsilon of all together: the smaller of basic and advanced composition."""
        advanced = total.drift / UNIT + math.sqrt(-2 * math.log(self.delta) * total.squares / UNIT)
        return min(super().used(total), advanced)

    def as_dict(self) -> dict[str, float]:
        """The limit in plain numbers, with its delta."""
        return super().as_dict() | {"delta": self.delta}

    def _how(self) -> str:
        return f"by basic or advanced composition with delta {self.delta:g}"


def _fits_advanced(total: int, spread: float, drift: int, squares: int) -> bool:
    left = total - drift
    return left >= 0 and squares < CAP and squares * spread <= float(left) * float(left)
