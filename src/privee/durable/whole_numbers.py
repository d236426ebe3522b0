"""Amounts as the whole numbers that a ledger stores: what is spent is rounded up, what is allowed is rounded down."""

from __future__ import annotations

import math
from fractions import Fraction

UNIT = 10**12
CAP = 2**62
"""Sums stop here, short of what a database holds in a whole number; no limit is as high."""


def spent(amount: float) -> int:
    """In trillionths, as it was written: ten times 0.1 is 1.

    Example:
        >>> spent(0.1), spent(1e-13)
        (100000000000, 1)
    """
    return min(math.ceil(Fraction(repr(float(amount))) * UNIT), CAP)


def allowed(amount: float) -> int:
    """In trillionths.

    Example:
        >>> allowed(0.3), allowed(1e-13)
        (300000000000, 0)
    """
    return min(math.floor(Fraction(repr(float(amount))) * UNIT), CAP - 1)
