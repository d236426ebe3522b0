"""Numbers and counts as people write them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """With separators; decimals only where there are some.

    Example:
        >>> [number(value) for value in (0, 12345, 10.0, 2.5, 0.000001)]
        ['0', '12,345', '10', '2.5', '0.000001']
    """
    if math.isinf(value):
        return "infinite"
    return f"{value:,.6f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"


def counted(count: int, noun: str, nouns: str = "") -> str:
    """A count with its noun.

    Example:
        >>> counted(1, "release"), counted(1200, "release"), counted(2, "entity", "entities")
        ('1 release', '1,200 releases', '2 entities')
    """
    return f"{number(count)} {noun if count == 1 else nouns or noun + 's'}"
