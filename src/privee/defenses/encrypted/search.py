"""Finding a plan: the polynomials that do what is asked in the fewest levels and the least time."""

from __future__ import annotations

import functools
import math

import numpy as np

from privee.defenses.encrypted.composite import (
    DEPTH,
    KEY_SWITCHES,
    Composite,
    degree_sequences,
    is_order_keeping,
    rises,
    sign_composite,
    step_composite,
)
from privee.defenses.encrypted.parameters import FLOOD, MARGIN, MODULUS_LIMIT, Plan, place
from privee.defenses.encrypted.precision import Shape, smallest

LEAK = 0.05
"""How far (total variation) the polynomials' ripple may take one result from the ideal one."""

_DEEPEST = 24
_DEPTHS_TRIED = 3


@functools.lru_cache(maxsize=64)
def find_plan(n_classes: int, k: int, gap: float, bound: float, parties: int) -> Plan | None:
    """The cheapest plan for this gap; None if no modulus of 128-bit security holds it."""
    select = find_select(n_classes, k)
    if select is None:
        return None
    for degree, limit in MODULUS_LIMIT.items():
        for compare in find_compares(n_classes, k, gap, select.depth + 1):
            plan = smallest(Shape(n_classes, k, gap, bound, parties, compare, select), degree, limit)
            if plan is not None:
                return plan
    return None


@functools.lru_cache(maxsize=64)
def find_compares(n_classes: int, k: int, gap: float, levels_below: int) -> tuple[Composite, ...]:
    """Signs whose ripple hides below the flood, summed over all classes: the cheapest of each of the least depths.

    Many small polynomials cost less time than few large ones, but more levels. The cheapest comes first.
    """
    ripple = 2 * FLOOD * LEAK / n_classes / math.sqrt(k)
    found: list[Composite] = []
    for depth in range(math.ceil(-math.log2(gap)), _DEEPEST):
        signs = (sign_composite(gap, degrees) for degrees in degree_sequences(depth))
        good = [sign for sign in signs if sign.error <= ripple and is_order_keeping(sign, n_classes)]
        found += [min(good, key=lambda sign: _work(sign, levels_below))] if good else []
        if len(found) == _DEPTHS_TRIED:
            break
    found.sort(key=lambda sign: _work(sign, levels_below))
    return tuple(sign.scaled(-1 / (n_classes - 1 + 2 * MARGIN)) for sign in found)


@functools.lru_cache(maxsize=64)
def find_select(n_classes: int, k: int) -> Composite | None:
    """The shallowest, then cheapest step from 0 to 1 between ranks k and k - 1."""
    low, high = place(n_classes, k - MARGIN), place(n_classes, k - 1 + MARGIN)
    ripple = 2 * FLOOD * LEAK / n_classes**1.5
    across = np.linspace(low, high, 4001)
    for depth in range(3, _DEEPEST):
        shapes = [(first, rest) for first in DEPTH for rest in degree_sequences(depth - DEPTH[first])]
        steps = (step_composite(low, high, first, rest) for first, rest in shapes)
        good = [step for step in steps if step.error <= ripple and rises(step, across)]
        if good:
            return min(good, key=lambda step: _work(step, 1)).scaled(0.5, 0.5)
    return None


def _work(composite: Composite, levels_below: int) -> float:
    """Proportional to the time of its key switches: their number times the squared number of primes."""
    level, work = composite.depth + levels_below, 0.0
    for stage in composite.stages:
        depth = DEPTH[len(stage) - 1]
        work += KEY_SWITCHES[len(stage) - 1] * (level + 1.5 - depth / 2) ** 2
        level -= depth
    return work
