"""Best polynomials: the smallest largest error of a step, by Remez' exchange.

All series are in Chebyshev polynomials on [-1, 1]: their coefficients stay small, so encrypted noise does too.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

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
