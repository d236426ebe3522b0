"""The circuit's arithmetic on plain numbers, with the rounding noise of encryption added.

A plan can be run with it: no key, no secret, for planning and for tests.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privee.baselines.he.circuit import Factor, compared, counted, leading
from privee.baselines.he.parameters import Plan

NOISE_BITS = 12.5
"""log2 of the standard deviation that one rescaling (or a fresh encryption) adds to a slot, at scale 1 and degree 2^15.

Rounding errors uniform on +-1/2 in both parts of a ciphertext, the second times a ternary secret: a coefficient gets
sqrt((1 + 2 n / 3) / 12), a slot sqrt(n) times that, over sqrt(2) for its real part. Measured: 12.4.
"""


@dataclasses.dataclass
class Number:
    """Values in slots, as if encrypted."""

    values: NDArray[np.float64]
    level: int
    scale: float
    parts: int = 2


class ClearArithmetic:
    """Adds the noise, counts the costly steps, and refuses what would wrap around or not fit together."""

    def __init__(self, primes: Sequence[int], degree: int, noise: np.random.Generator | None) -> None:
        self.primes, self.noise = primes, noise
        self.unit = 2.0 ** (NOISE_BITS + math.log2(degree) - 15)
        self.modulus_bits = np.cumsum(np.log2(np.asarray(primes, dtype=np.float64)))
        self.key_switches: list[int] = []
        self.products: list[int] = []

    def fresh(self, values: NDArray[np.float64], scale: float, senders: int = 1) -> Number:
        """As if encrypted in parts by several senders and added up."""
        return self._noisy(Number(values, len(self.primes) - 1, scale), math.sqrt(senders))

    def _noisy(self, x: Number, times: float = 1.0) -> Number:
        if self.noise is None:
            return x
        noise = self.noise.normal(size=x.values.shape) * (times * self.unit / x.scale)
        return dataclasses.replace(x, values=x.values + noise)

    def level(self, x: Number) -> int:
        return x.level

    def scale(self, x: Number) -> float:
        return x.scale

    def lowered(self, x: Number, level: int) -> Number:
        if level > x.level:
            raise ValueError(f"level {level} is above {x.level}")
        return dataclasses.replace(x, level=level)

    def plus(self, x: Number, y: Number) -> Number:
        if x.level != y.level or not math.isclose(x.scale, y.scale, rel_tol=1e-9):
            raise ValueError("levels or scales differ")
        return Number(x.values + y.values, x.level, x.scale, max(x.parts, y.parts))

    def plus_plain(self, x: Number, y: Factor) -> Number:
        return dataclasses.replace(x, values=x.values + y)

    def times(self, x: Number, y: Number) -> Number:
        if x.level != y.level or x.parts + y.parts != 4:
            raise ValueError("levels differ, or a factor is not relinearised")
        self.products.append(x.level)
        return self._checked(Number(x.values * y.values, x.level, x.scale * y.scale, 3))

    def times_plain(self, x: Number, y: Factor, scale: float) -> Number:
        self.products.append(x.level)
        factor = np.round(np.asarray(y) * scale) / scale
        return self._checked(dataclasses.replace(x, values=x.values * factor, scale=x.scale * scale))

    def _checked(self, x: Number) -> Number:
        if self.noise is None and np.abs(x.values).max() * x.scale > 2.0 ** (self.modulus_bits[x.level] - 1):
            raise ValueError("the values do not fit the modulus")
        return x

    def relinearised(self, x: Number) -> Number:
        if x.parts == 2:
            return x
        self.key_switches.append(x.level)
        return dataclasses.replace(x, parts=2)

    def rescaled(self, x: Number) -> Number:
        return self._noisy(dataclasses.replace(x, level=x.level - 1, scale=x.scale / self.primes[x.level]))

    def rotated(self, x: Number, steps: int) -> Number:
        if x.parts != 2:
            raise ValueError("not relinearised")
        self.key_switches.append(x.level)
        return dataclasses.replace(x, values=np.roll(x.values, -steps))


def simulate(plan: Plan, scores: NDArray[np.float64], noise: np.random.Generator | None) -> NDArray[np.float64]:
    """Results (records, classes) of the evaluation for (records, classes) scores, before the evaluator's flood."""
    do = ClearArithmetic(plan.primes, plan.degree, noise)
    slots = (plan.layout.differences(scores / plan.bound, chunk) for chunk in range(plan.chunks))
    signs = (compared(do, plan, do.fresh(one, plan.compare_scales[0], plan.parties)) for one in slots)
    places = counted(do, functools.reduce(do.plus, signs), plan.layout.rotations)
    return plan.layout.read(leading(do, plan, places, *plan.points_above_boundary()).values, len(scores))


def simulate_columns(
    plan: Plan, scores: NDArray[np.float64], columns: NDArray[np.intp], noise: np.random.Generator
) -> NDArray[np.float64]:
    """Results of some classes of one record; a class listed twice is worked out twice. All rows at once, no chunks."""
    do = ClearArithmetic(plan.primes, plan.degree, noise)
    rows = 1 << (plan.n_classes - 1).bit_length()
    table = np.zeros((rows, len(columns)))
    table[: plan.n_classes] = (scores[:, None] - scores[columns]) / plan.bound
    fresh = do.fresh(table.reshape(-1), plan.compare_scales[0], plan.parties)
    rotations = [len(columns) << doubling for doubling in range(rows.bit_length() - 1)]
    places = counted(do, compared(do, plan, fresh), rotations)
    return leading(do, plan, places, *plan.points_above_boundary()).values[: len(columns)]
