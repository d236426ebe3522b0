"""What PRIVEE-U and PRIVEE-U+ share: rank-assigned uniform factors, and their public inverse.

With K classes, each class gets a draw u from the K-th part of [0, draw_range] that its rank assigns (the highest
score the highest part), and the release is

    p_j = c_j (1 + sigma_j u_j) - (2 / K) sum(c)        householder: A = I - (2/K) 1 1^T
    p_j = c_j (1 + sigma_j u_j)                         identity:    A = I

No K x K matrix is ever built: it is a sort and one pass.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_positive
from privee.defenses.inverse import condition_on_sum, tighten_by_sum
from privee.defenses.short_vector import LONGEST, release_vector
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores import ascending, place, rise_where
from privee.scores.along_rows import BLOCK, to_each
from privee.scores.forms import Floats

Array = NDArray[np.float64]
Transform = Literal["householder", "identity"]

MAX_STRENGTH = 1e12


class Intervals(NamedTuple):
    """The public part of the mechanism by rank position, the leading class first.

    A draw at position i is uniform on [low[i], low[i] + width] and scales its score by 1 + sigma[i] * draw, a factor
    between factor_low[i] and factor_high[i]; then `shift` is subtracted (for scores that sum to one). `rising` holds
    the smallest factor and its spread in the order rows are sorted in, the last class first, for each row of a block;
    `numbers` the same for one row, if classes are few.
    """

    sigma: Array
    low: Array
    width: float
    shift: float
    factor_low: Array
    factor_high: Array
    rising: tuple[Array, Array]
    numbers: tuple[list[float], list[float]] | None


def release_rows(rows: Floats, sums: Array, intervals: Intervals, draws: Draws) -> Floats:
    """Release valid rows; exact order in their dtype."""
    if intervals.numbers is not None and len(rows) == 1:
        return release_vector(rows, intervals.shift * sums.item(), *intervals.numbers, draws)
    smallest, spread = intervals.rising
    order, values = ascending(rows)
    released = draws.uniform(values.shape)
    released *= spread[: len(rows)]
    released += smallest[: len(rows)]
    released *= values.astype(np.float64, copy=False)
    if intervals.shift:
        released -= to_each(intervals.shift * sums, rows.shape[1])
    return place(order, rise_where(values, released.astype(rows.dtype, copy=False)), out=values)


def estimate_rows(rows: Array, intervals: Intervals) -> Floats:
    """Posterior estimate of the scores: each lies in a known interval, and they sum to one.

    Given p_j, a score c_j has density proportional to 1/c_j on its interval (flat prior), and no score can be more
    than the others leave of one, nor less. Those moments are then corrected by the sum.
    """
    order, values = ascending(rows)
    kept = np.maximum(values + intervals.shift, 0.0)
    low, high = kept / intervals.factor_high[::-1], kept / intervals.factor_low[::-1]
    low, high = tighten_by_sum(low, high)
    return place(order, condition_on_sum(*_reciprocal_moments(low, high), low, high))


def _reciprocal_moments(low: Array, high: Array) -> tuple[Array, Array]:
    """Mean and variance of the density proportional to 1/c on [low, high]."""
    width = high - low
    ratio = np.divide(width, low, out=np.zeros_like(width), where=low > 0)
    flat = ratio < 1e-4  # too narrow for a difference of moments; uniform to that accuracy
    logs = np.where(flat, 1.0, np.log1p(ratio))
    mean = np.where(flat, (low + high) / 2, width / logs)
    return mean, np.where(flat, width**2 / 12, width * (low + high) / (2 * logs) - mean**2)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankNoise(Defense):
    """Settings common to both variants."""

    preserves_order: ClassVar[bool] = True
    rows_apart: ClassVar[bool] = True

    amplitude: float = 0.48
    transform: Transform = "householder"
    draw_range: float = 1.0

    def __post_init__(self) -> None:
        check_positive(amplitude=self.amplitude, draw_range=self.draw_range)
        if self.transform not in get_args(Transform):
            raise SettingError(f"transform must be one of {', '.join(get_args(Transform))}, got {self.transform!r}")

    @abstractmethod
    def rho_by_rank(self, n_classes: int) -> Array:
        """Give rho by rank position, the leading class first."""

    def intervals(self, n_classes: int) -> Intervals:
        """The public intervals for this many classes."""
        return _intervals(self, n_classes)

    def _release(self, rows: Floats, sums: Array, draws: Draws) -> Floats:
        return release_rows(rows, sums, _intervals(self, rows.shape[1]), draws)

    def _estimate(self, rows: Array) -> Floats:
        return estimate_rows(rows, _intervals(self, rows.shape[1]))

    def _check_strength(self, smallest_rho: float) -> None:
        if self.amplitude / smallest_rho * self.draw_range > MAX_STRENGTH:
            raise SettingError(f"rho {smallest_rho:g} is too small: amplitude / rho must stay below {MAX_STRENGTH:g}")

    def guarantee(self, n_classes: int) -> Guarantee:
        """Ambiguity within public intervals, in numbers. There is no differential privacy here."""
        public = self.intervals(n_classes)
        ratio = public.factor_high / public.factor_low
        return Guarantee(
            proven="each score is only known to lie in an interval; infinitely many score vectors fit one release",
            same="score vectors inside the intervals that share the ranking, for one release",
            not_covered=(
                "the full ranking",
                f"the leading score up to a factor of {ratio[0]:.3g}, the last up to {ratio[-1]:.3g}",
                "anything after many queries: fresh draws average out (see privee budget)",
                asked_again(n_classes),
            ),
            figures={
                "sigma_largest": float(public.sigma[0]),
                "sigma_smallest": float(public.sigma[-1]),
                "interval_ratio_leading": float(ratio[0]),
                "interval_ratio_last": float(ratio[-1]),
            },
        )


@lru_cache(maxsize=16)
def _intervals(defense: RankNoise, n_classes: int) -> Intervals:
    sigma = defense.amplitude / defense.rho_by_rank(n_classes)
    width = defense.draw_range / n_classes
    low = width * np.arange(n_classes - 1, -1, -1, dtype=np.float64)
    shift = 2.0 / n_classes if defense.transform == "householder" else 0.0
    factor_low, factor_high = 1.0 + sigma * low, 1.0 + sigma * (low + width)
    rising = (_rising_rows(factor_low), _rising_rows(factor_high - factor_low))
    for array in (sigma, low, factor_low, factor_high, *rising):
        array.setflags(write=False)
    numbers = (rising[0][0].tolist(), rising[1][0].tolist()) if n_classes <= LONGEST else None
    return Intervals(sigma, low, width, shift, factor_low, factor_high, rising, numbers)


def _rising_rows(falling: Array) -> Array:
    """Reversed, and written out for a block of rows: NumPy is quicker with operands of one layout."""
    return np.tile(falling[::-1], (max(1, BLOCK // falling.size), 1))
