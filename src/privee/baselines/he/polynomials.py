"""Steps made of polynomials inside polynomials: each takes what the one before left fuzzy and sharpens it.

A composite goes from about -1 to about +1 (its `error` says how close) outside a gap, and rises through the gap.

Best polynomials: the smallest largest error of a step, by Remez' exchange.

All series are in Chebyshev polynomials on [-1, 1]: their coefficients stay small, so encrypted noise does too.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

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
        """How many levels it takes."""
        return sum(DEPTH[len(stage) - 1] for stage in self.stages)

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        for stage in self.stages:
            x = _value(stage, x)
        return x

    def slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Its derivative at these points."""
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


Series = tuple[float, ...]
"""Chebyshev coefficients, the constant first."""

_POINTS = 3000
_ROUNDS = 60
_SAFETY = 1 + 1e-5
"""Peaks of the error are looked for between the points too; what that misses is less than this (and 1e-13)."""


@functools.lru_cache(maxsize=4096)
def sign_series(gap: float, degree: int) -> tuple[Series, float]:
    """The odd polynomial closest to the sign of x for gap <= |x| <= 1, and its largest error there.

    Example:
        >>> series, error = sign_series(0.5, 3)
        >>> round(error, 4)
        0.086
    """
    x = np.unique(np.r_[_dense(gap, 1.0), np.geomspace(gap, 1.0, _POINTS)].clip(gap, 1.0))
    return _remez(x, np.ones_like(x), range(1, degree + 1, 2))


@functools.lru_cache(maxsize=1024)
def step_series(low: float, high: float, degree: int) -> tuple[Series, float]:
    """The polynomial closest to -1 on [-1, low] and to +1 on [high, 1], and its largest error there."""
    below, above = _dense(-1.0, low), _dense(high, 1.0)
    return _remez(np.r_[below, above], np.r_[-np.ones_like(below), np.ones_like(above)], range(degree + 1))


def _dense(low: float, high: float) -> NDArray[np.float64]:
    """Points that crowd at both ends, where the error of a polynomial turns fastest."""
    share: NDArray[np.float64] = (1.0 - np.cos(np.linspace(0.0, np.pi, _POINTS))) / 2
    return low + (high - low) * share


def _remez(x: NDArray[np.float64], target: NDArray[np.float64], degrees: range) -> tuple[Series, float]:
    """Coefficients and error; coefficients outside `degrees` are zero."""
    basis = np.asarray(np.polynomial.chebyshev.chebvander(x, degrees[-1])[:, degrees], dtype=np.float64)
    best, peaks = _exchange(basis, target, _evenly_by_angle(x, target, len(degrees) + 1))
    series = np.zeros(degrees[-1] + 1)
    series[degrees] = best
    return tuple(series.tolist()), _largest_error(series, x, target, peaks) * _SAFETY + 1e-13


def _exchange(
    basis: NDArray[np.float64], target: NDArray[np.float64], at: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Solve for equal errors of changing sign at a few points, move them to the error's peaks, again."""
    best: NDArray[np.float64] = np.zeros(basis.shape[1])
    best_error, best_at = float(np.abs(target).max()), at
    signs = (-1.0) ** np.arange(len(at))
    for _ in range(_ROUNDS):
        solution = np.asarray(np.linalg.solve(np.c_[basis[at], signs], target[at]), dtype=np.float64)
        error = basis @ solution[:-1] - target
        worst = float(np.abs(error).max())
        peaks = _alternating_peaks(error, len(at))
        if worst < best_error:
            best, best_error, best_at = solution[:-1], worst, at if peaks is None else peaks
        if worst <= abs(solution[-1]) * (1 + 1e-9) + 1e-14 or peaks is None:
            break
        at = peaks
    return best, best_at


def _largest_error(
    series: NDArray[np.float64], x: NDArray[np.float64], target: NDArray[np.float64], peaks: NDArray[np.intp]
) -> float:
    """On the points and, around each peak, between them."""
    error = np.abs(np.polynomial.chebyshev.chebval(x, series) - target).max()
    for peak in peaks:
        beside = [at for at in (peak - 1, peak, peak + 1) if 0 <= at < len(x) and target[at] == target[peak]]
        between = np.linspace(x[beside[0]], x[beside[-1]], 41)
        error = max(error, np.abs(np.polynomial.chebyshev.chebval(between, series) - target[peak]).max())
    return float(error)


def _evenly_by_angle(x: NDArray[np.float64], target: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Where to start: evenly spaced in arccos(x), as the peaks of Chebyshev polynomials are, leaving out the gap."""
    steps = np.where(np.diff(target) == 0, -np.diff(np.arccos(x)), 0.0)
    length = np.r_[0.0, np.cumsum(steps)]
    at = np.searchsorted(length, np.linspace(0.0, length[-1], count) * (1 - 1e-12))
    at[1:] = np.maximum.accumulate(np.maximum(at[1:], 1))
    return at


def _alternating_peaks(error: NDArray[np.float64], wanted: int) -> NDArray[np.intp] | None:
    """The highest point of each run of one sign; too many lose their lowest neighbours. None if there are too few."""
    starts = np.r_[0, np.flatnonzero(np.diff(np.sign(error))) + 1]
    runs = np.split(np.abs(error), starts[1:])
    peaks = [int(start + run.argmax()) for start, run in zip(starts, runs, strict=True)]
    while len(peaks) > wanted:
        height = np.abs(error[peaks])
        pairs = height[:-1] + height[1:]
        if len(peaks) == wanted + 1 or min(height[0], height[-1]) < pairs.min():
            peaks.pop(0 if height[0] < height[-1] else -1)
        else:
            lowest = int(pairs.argmin())
            del peaks[lowest : lowest + 2]
    return np.array(peaks, dtype=np.intp) if len(peaks) == wanted else None
