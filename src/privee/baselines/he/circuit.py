"""The computation itself, once, for any arithmetic: encrypted (`seal`), in the clear with noise (`clear`), counted.

Values sit at a level; a product is rescaled by the prime of its level and goes one level down. Scales are exact: every
sum is of equal scales, because the plaintext factors that lead to it are encoded at the scale that makes them so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from privee.baselines.he.parameters import Plan
from privee.baselines.he.polynomials import Series

T = TypeVar("T")
Factor = float | NDArray[np.float64]


class Arithmetic(Protocol[T]):
    """What the computation needs."""

    @property
    def primes(self) -> Sequence[int]: ...
    def level(self, x: T) -> int: ...
    def scale(self, x: T) -> float: ...
    def lowered(self, x: T, level: int) -> T: ...
    def plus(self, x: T, y: T) -> T: ...
    def plus_plain(self, x: T, y: Factor) -> T: ...
    def times(self, x: T, y: T) -> T: ...
    def times_plain(self, x: T, y: Factor, scale: float) -> T: ...
    def relinearised(self, x: T) -> T: ...
    def rescaled(self, x: T) -> T: ...
    def rotated(self, x: T, steps: int) -> T: ...


def compared(do: Arithmetic[T], plan: Plan, differences: T) -> T:
    """Signs of the differences, one step short of done: chunks are added up before the costly last steps."""
    x = differences
    for stage, scale in zip(plan.compare.stages[:-1], plan.compare_scales[1:], strict=True):
        x = polynomial(do, stage, x, scale)
    return _last_product(do, plan.compare.stages[-1], x, plan.place_scale)


def counted(do: Arithmetic[T], signs: T, rotations: Sequence[int]) -> T:
    """Where each column's class stands: its column of signs summed.

    Rescaling comes last: then its noise comes once, not once per row.
    """
    total = do.relinearised(signs)
    for step in rotations:
        total = do.plus(total, do.rotated(total, step))
    return do.rescaled(total)


def leading(do: Arithmetic[T], plan: Plan, places: T, slope: Factor, constant: Factor) -> T:
    """Points for the leading classes: k minus the rank for the first k, 0 for all others.

    `slope` and `constant` turn a place into k minus the rank (`Plan.points_above_boundary`).
    """
    chosen = places
    for stage, scale in zip(plan.select.stages, (*plan.select_scales[1:], plan.chosen_scale), strict=True):
        chosen = polynomial(do, stage, chosen, scale)
    at = do.level(chosen)
    scale = plan.result_scale * do.primes[at] / do.scale(chosen)
    low = do.lowered(places, at + 1)
    points = do.rescaled(do.times_plain(low, slope, scale * do.primes[at + 1] / do.scale(low)))
    points = do.plus_plain(points, constant)
    return do.rescaled(do.relinearised(do.times(chosen, points)))


def polynomial(do: Arithmetic[T], series: Series, x: T, scale: float) -> T:
    """A Chebyshev series of degree 2^d - 1 at x, d levels down, at the given scale."""
    return do.rescaled(do.relinearised(_last_product(do, series, x, scale)))


def _last_product(do: Arithmetic[T], series: Series, x: T, scale: float) -> T:
    """The series before its last rescaling."""
    powers = [x]  # T_1, T_2, T_4, ...
    while 2 ** len(powers) < len(series):
        square = do.rescaled(do.relinearised(do.times(powers[-1], powers[-1])))
        powers.append(do.plus_plain(do.plus(square, square), -1.0))
    at = do.level(x) - len(powers) + 1
    return _unfinished(do, series, powers, at, scale * do.primes[at])


def _unfinished(do: Arithmetic[T], series: Series, powers: list[T], at: int, scale: float) -> T:
    """Low half + high half * T_m, at a level and scale of choice; only the high half is relinearised and rescaled."""
    if len(series) == 2:
        x = do.lowered(powers[0], at)
        product = do.times_plain(x, series[1], scale / do.scale(x))
        return do.plus_plain(product, series[0]) if series[0] else product
    low, high = split(series)
    power = do.lowered(powers[len(high).bit_length() - 1], at)
    above = at + 1
    factor = _unfinished(do, high, powers, above, scale / do.scale(power) * do.primes[above])
    product = do.times(do.rescaled(do.relinearised(factor)), power)
    return do.plus(product, _unfinished(do, low, powers, at, scale))


def split(series: Series) -> tuple[Series, Series]:
    """Low and high with low + high * T_m = series, m half the length: T_(m+j) = 2 T_j T_m - T_(m-j)."""
    middle = len(series) // 2
    low, high = list(series[:middle]), [series[middle]]
    for j in range(1, middle):
        high.append(2 * series[middle + j])
        low[middle - j] -= series[middle + j]
    return tuple(low), tuple(high)
