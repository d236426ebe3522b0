"""What T releases of one record cost together, when each is epsilon-differentially private."""

from __future__ import annotations

import math

from privee.errors import SettingError


def composed_epsilon(epsilon: float, queries: int, delta: float = 0.0) -> float:
    """Epsilon of all releases together, at this delta: the smaller of basic and advanced composition.

    Basic: T epsilon, at delta 0. Advanced (Dwork, Rothblum and Vadhan 2010, with the sharper mean of Kairouz, Oh and
    Viswanath 2015): T epsilon (e^epsilon - 1) / (e^epsilon + 1) + epsilon sqrt(2 T log(1 / delta)).

    Example:
        >>> composed_epsilon(0.1, 100), round(composed_epsilon(0.1, 100, delta=1e-6), 2)
        (10.0, 5.76)
    """
    if epsilon < 0 or queries < 0 or not 0 <= delta < 1:
        raise SettingError("epsilon and queries must be 0 or more, delta from 0 to below 1")
    basic = queries * epsilon
    if delta == 0:
        return basic
    drift = queries * epsilon * math.tanh(epsilon / 2)
    return min(basic, drift + epsilon * math.sqrt(2 * queries * math.log(1 / delta)))


def epsilon_per_release(total: float, queries: int, delta: float = 0.0) -> float:
    """The largest epsilon each of T releases may have, so that together they cost no more than `total`.

    Example:
        >>> epsilon_per_release(8.0, 4)
        2.0
    """
    if total <= 0 or queries < 1:
        raise SettingError("the total epsilon must be above 0, and queries 1 or more")
    low, high = total / queries, total
    if delta == 0 or queries == 1:
        return low
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if composed_epsilon(middle, queries, delta) <= total else (low, middle)
    return low
