"""Steps made of polynomials inside polynomials: each takes what the one before left fuzzy and sharpens it.

A composite goes from about -1 to about +1 (its `error` says how close) outside a gap, and rises through the gap.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from privee.defenses.encrypted.remez import Series, sign_series, step_series

DEPTH = {3: 2, 7: 3, 15: 4, 31: 5}
"""Levels that a polynomial of a degree takes."""

KEY_SWITCHES = {3: 2, 7: 4, 15: 7, 31: 12}
"""Relinearisations, by far the most of its cost."""

HEADROOM = 1 + 2.0**-9
"""Values between stages are kept this much inside [-1, 1], so that noise cannot carry them out."""


@dataclasses.dataclass(frozen=True)
class Composite:
    """Stages applied one after the other; each is a Chebyshev series of degree 3, 7, 15 or 31."""

    stages: tuple[Series, ...]
    error: float

    @property
    def depth(self) -> int:
        """Levels it takes."""
        return sum(DEPTH[len(stage) - 1] for stage in self.stages)

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        for stage in self.stages:
            x = _value(stage, x)
        return x

    def slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Its derivative."""
        slope: NDArray[np.float64] = np.ones(x.shape)
        for stage in self.stages:
            steepness = _value(tuple(chebyshev.chebder(stage)), x)
            slope, x = slope * steepness, _value(stage, x)
        return slope

    def scaled(self, factor: float, offset: float = 0.0) -> Composite:
        """The same with its result multiplied and moved; costs nothing when encrypted."""
        last = [factor * value for value in self.stages[-1]]
        return Composite((*self.stages[:-1], (last[0] + offset, *last[1:])), abs(factor) * self.error)


def _value(series: Series, x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(chebyshev.chebval(x, series), dtype=np.float64)


def sign_composite(gap: float, degrees: tuple[int, ...]) -> Composite:
    """The sign of x for gap <= |x| <= 1 (Lee et al. 2021: the best stage for what the one before can give)."""
    return _continue([], gap, degrees)


def step_composite(low: float, high: float, first: int, degrees: tuple[int, ...]) -> Composite:
    """-1 on [-1, low], +1 on [high, 1]: one stage that makes the step symmetric, then signs."""
    series, error = step_series(low, high, first)
    if not degrees:
        return Composite((series,), error)
    series, gap = _normalised(series, error)
    return _continue([series], gap, degrees)


def _continue(stages: list[Series], gap: float, degrees: tuple[int, ...]) -> Composite:
    for degree in degrees[:-1]:
        series, gap = _normalised(*sign_series(gap, degree))
        stages.append(series)
    series, error = sign_series(gap, degrees[-1])
    return Composite((*stages, series), error)


def _normalised(series: Series, error: float) -> tuple[Series, float]:
    """Scale a stage into [-1, 1]; the gap that is left for the next one is its lowest value there."""
    top = (1 + error) * HEADROOM
    gap = (1 - error) / top / HEADROOM
    return tuple(value / top for value in series), float(f"{gap:.9g}")


@functools.cache
def degree_sequences(depth: int) -> tuple[tuple[int, ...], ...]:
    """Rising sequences of degrees that take this many levels (their order hardly matters to the error)."""
    return tuple(_sequences(depth, 3 if depth < 6 else 7))


def _sequences(depth: int, least: int) -> Iterator[tuple[int, ...]]:
    if depth == 0:
        yield ()  # and for a negative depth nothing at all
    for degree, levels in DEPTH.items():
        if degree >= least and levels <= depth:
            for rest in _sequences(depth - levels, degree):
                yield (degree, *rest)


def is_order_keeping(compare: Composite, n_classes: int) -> bool:
    """Do sums of comparisons over all classes fall strictly as a class's score rises, ripple and all?

    For two classes D > 0 apart, their own comparison parts their sums by F(D); each of the other K - 2 can bring them
    together by at most the fall of F over D, which is at most min(2 error, D max(-F')), halved as F runs to +-1.
    """
    x = np.r_[np.geomspace(1e-12, 1.0, 4000), np.linspace(1e-4, 1.0, 20001)]
    fall = float(np.maximum(-compare.slope(x), 0.0).max()) * 1.1  # a tenth more, for what lies between the points
    worst = (n_classes - 2) * np.minimum(compare.error, x * fall / 2)
    return bool((compare(x) > worst).all()) and rises(compare, np.geomspace(1e-12, 1.0, 20001))


def rises(step: Composite, x: NDArray[np.float64]) -> bool:
    """Does it rise along x until it first comes within its error of one, and stay there?"""
    value = step(x)
    before = value < 1 - step.error * 1.001 - 1e-12
    first = len(x) if before.all() else int(np.argmin(before))
    return bool((np.diff(value[:first]) > 0).all()) and not before[first:].any()
