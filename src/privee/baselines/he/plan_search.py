"""Finding a plan: the polynomials that do what is asked in the fewest levels and the least time.

For each the bits that every level needs are worked out, and what noise and ripple are left with them.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from numpy.typing import NDArray

from privee.baselines.he.clear import simulate_columns
from privee.baselines.he.parameters import FLOOD, MARGIN, MODULUS_LIMIT, SPLIT, Plan, place, primes_near
from privee.baselines.he.polynomials import (
    DEPTH,
    KEY_SWITCHES,
    Composite,
    degree_sequences,
    is_order_keeping,
    rises,
    sign_composite,
    step_composite,
)

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


SURE = 8.0
"""Standard deviations that count as never: one in 10^15."""

_RESULT_BITS = 24
_FEWEST_BITS = 26
_FIRST_TRY = 18
_SAMPLES = 200
_SLOTS = 16384
_FEWEST_COLUMNS = 25


@dataclasses.dataclass(frozen=True)
class Shape:
    """A question and the polynomials that answer it."""

    n_classes: int
    k: int
    gap: float
    bound: float
    parties: int
    compare: Composite
    select: Composite


def smallest(shape: Shape, degree: int, limit: int) -> Plan | None:
    """Lower the precision until ties are told from gaps only just surely; then see whether the modulus fits."""
    wanted = math.sqrt((SPLIT - 0.05) ** 2 / (2 * SURE**2) - FLOOD**2)
    base = _FIRST_TRY
    while True:
        plan = _with_precision(shape, degree, base)
        if plan is None or plan.modulus_bits > limit or not plan.layout.fits:
            return None
        noise = tie_noise(plan)
        if noise <= wanted:
            return dataclasses.replace(plan, noise=noise, leak=_leak(plan))
        base += max(1, math.floor(math.log2(noise / wanted)))


def _with_precision(shape: Shape, degree: int, base: int) -> Plan | None:
    """Bits for each stage: as many as its noise is still multiplied by, on top of `base`."""
    compare, select = _amplification(shape)
    bits = [max(_FEWEST_BITS, math.ceil(base + math.log2(a))) for a in (*compare, *select)]
    at_end = max(_FEWEST_BITS, math.ceil(base + math.log2(shape.n_classes)))
    place_bits = bits[len(compare)]
    stages = (*shape.compare.stages, *shape.select.stages)
    depths = [DEPTH[len(stage) - 1] for stage in stages]
    chain = [[b] * d for b, d in zip(bits, depths, strict=True)]
    falling = [b for piece in chain for b in piece] + [at_end]
    last = _RESULT_BITS + 3 + math.ceil(math.log2(shape.k + 1))
    special = max(falling) + 8
    if special > 60:
        return None
    sources = {b: primes_near(b, degree) for b in {*falling, last, special}}
    *primes, special_prime = (next(sources[b]) for b in (last, *reversed(falling), special))
    return Plan(
        n_classes=shape.n_classes,
        k=shape.k,
        bound=shape.bound,
        parties=shape.parties,
        degree=degree,
        primes=tuple(primes),
        special_prime=special_prime,
        compare=shape.compare,
        select=shape.select,
        compare_scales=tuple(2.0**b for b in bits[: len(compare)]),
        place_scale=2.0**place_bits,
        select_scales=tuple(2.0**b for b in bits[len(compare) :]),
        chosen_scale=2.0**at_end,
        result_scale=2.0**_RESULT_BITS,
        gap=shape.gap,
    )


def _amplification(shape: Shape) -> tuple[list[float], list[float]]:
    """By how much noise entering each stage moves a result at a tie on the boundary."""
    at = np.array([place(shape.n_classes, shape.k - 0.5)])
    select = [abs(a) / 2 for a in _slopes(shape.select, at)]
    tied = min(2 * shape.k, 2 * (shape.n_classes - shape.k))
    compare = [abs(a) * math.sqrt(tied) * select[0] for a in _slopes(shape.compare, np.zeros(1))]
    return compare, select


def _slopes(composite: Composite, x: NDArray[np.float64]) -> list[float]:
    """Slope of the rest of a composite, from each stage on."""
    slopes = []
    for done in range(len(composite.stages)):
        rest = Composite(composite.stages[done:], 0.0)
        slopes.append(float(rest.slope(Composite(composite.stages[:done], 0.0)(x))[0]))
    return slopes


def _leak(plan: Plan) -> float:
    """Pinsker's bound on the total variation that the ripple makes under the flood, all classes at their worst."""
    outside = plan.select.error * plan.n_classes
    ripple = plan.compare.error * (plan.n_classes - 1 + 2 * MARGIN)
    inside = plan.select.error * plan.k + plan.n_classes * ripple / 2
    squares = (plan.n_classes - plan.k) * outside**2 + plan.k * inside**2
    return math.sqrt(squares) / (2 * FLOOD)


def tie_noise(plan: Plan) -> float:
    """Standard deviation of results whose scores tie across the boundary, by simulation (largest tie possible)."""
    tied = min(2 * plan.k, 2 * (plan.n_classes - plan.k))
    above = plan.k - tied // 2
    scores = np.full(plan.n_classes, -0.9 * plan.bound)
    scores[above : above + tied], scores[:above] = 0.0, 0.05 * plan.bound
    columns = above + np.arange(max(_FEWEST_COLUMNS, _SLOTS // plan.n_classes)) % tied
    noise, results = np.random.default_rng(1), np.empty(0)
    while len(results) < _SAMPLES:
        results = np.r_[results, simulate_columns(plan, scores, columns, noise)]
    return float(np.std(results)) * (1 + 1 / math.sqrt(len(results)))  # the estimate's own error on top
