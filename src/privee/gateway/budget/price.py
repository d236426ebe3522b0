"""What a release costs, in the whole numbers that the ledger stores for every entity; costs are rounded up.

Epsilon is counted in trillionths. Advanced composition needs two more sums (see `theory.composition`): the drift,
epsilon tanh(epsilon / 2), and the squares, epsilon ** 2. All four are added up whatever the policy, so that another
policy can take over at any time and knows what was given away before.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from privee.defenses import Defense
from privee.durable.whole_numbers import CAP, UNIT

__all__ = ["CAP", "NOTHING", "SLACK", "UNIT", "Price"]

SLACK = 1 + 1e-12
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
        drift = exact * (Fraction(math.tanh(epsilon / 2)) + _LEAST) * Fraction(SLACK)
        return cls(1, *(min(math.ceil(part * UNIT), CAP) for part in (exact, drift, exact**2)))

    def times(self, count: int) -> Price:
        """The price of this many releases."""
        return Price(*(min(part * count, CAP) for part in self))

    def plus(self, other: Price) -> Price:
        """The price of both together."""
        return Price(*(min(a + b, CAP) for a, b in zip(self, other, strict=True)))


NOTHING = Price(0)
