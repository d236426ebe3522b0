"""The axes of the privacy-utility picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

DECADES = 5


def scale_moved(axes: Axes, moved: Sequence[float]) -> str:
    """Logarithmic with room for zero where values differ by much; returns what to say about it."""
    largest, positive = max(moved), [value for value in moved if value > 0]
    axes.xaxis.set_minor_locator(NullLocator())
    if not positive or largest < 10 * min(positive):
        axes.set_xlim(-0.06 * (largest or 1.0), 1.1 * (largest or 1.0))
        axes.xaxis.set_major_locator(FixedLocator(_round_ticks(1.1 * (largest or 1.0))))
        axes.xaxis.set_major_formatter(FuncFormatter(plain_tick))
        return ""
    top = math.ceil(math.log10(largest))
    bottom = max(math.floor(math.log10(min(positive))), top - DECADES)
    axes.set_xscale("symlog", linthresh=10.0**bottom, linscale=0.5)
    axes.set_xlim(-0.25 * 10.0**bottom, max(1.6 * largest, 10.0 ** (top - 0.3)))
    axes.xaxis.set_major_locator(FixedLocator([0.0, *(10.0**k for k in range(bottom, top + 1))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain_tick))
    return " (log scale)"


def scale_error(axes: Axes, largest: float, column_means: float) -> None:
    """From zero to somewhat above the largest error; the column means only stretch the scale if they are near."""
    top = largest or 1.0
    high = max(1.15 * column_means, 1.15 * top) if column_means <= 1.8 * top else 1.35 * top
    axes.set_ylim(-0.05 * high, high)
    axes.yaxis.set_major_locator(FixedLocator(_round_ticks(high)))
    axes.yaxis.set_major_formatter(FuncFormatter(plain_tick))


def plain_tick(value: float, _: object = None) -> str:
    """A tick in plain decimals.

    Example:
        >>> [plain_tick(value) for value in (0.0, 1e-5, 0.0250, 1000.0)]
        ['0', '0.00001', '0.025', '1,000']
    """
    text = f"{value:,.10f}".rstrip("0").rstrip(".")
    return text or "0"


def _round_ticks(high: float) -> list[float]:
    """About five round numbers from zero up."""
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, high)
    return [float(tick) for tick in ticks if 0 <= tick <= high]
