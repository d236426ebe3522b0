"""Boxes, arrows and lanes: what diagrams are made of. Coordinates are pixels from the upper left, 1000 to the right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from privee.audit.report.charts import FAINT, GRID, INK
from privee.audit.report.query_curves import COLOURS

WIDTH = 1000
LIGHT = "#f5f7fa"
ACCENT = COLOURS[0]


def page(height: int) -> tuple[Figure, Axes]:
    """An empty page whose axes count pixels."""
    figure = Figure(figsize=(WIDTH / 100, height / 100), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def heading(axes: Axes, x: float, y: float, text: str) -> None:
    """Write a bold line."""
    axes.text(x, y, text, weight="bold", fontsize=11.5, va="center", color=INK)


def note(axes: Axes, x: float, y: float, text: str, *, align: str = "center", size: float = 9.0) -> None:
    """Write a few small words."""
    axes.text(x, y, text, fontsize=size, ha=align, va="center", color=FAINT, linespacing=1.35)


def box(axes: Axes, left: float, top: float, width: float, height: float, title: str, lines: Sequence[str]) -> None:
    """A box with a bold title and lines below it."""
    axes.add_patch(
        FancyBboxPatch(
            (left, top), width, height, boxstyle="round,pad=0,rounding_size=8", facecolor=LIGHT, edgecolor=FAINT
        )
    )
    middle, first = left + width / 2, top + height / 2 - 9 * len(lines)
    axes.text(middle, first, title, weight="bold", fontsize=11, ha="center", va="center", color=INK)
    for k, line in enumerate(lines, start=1):
        axes.text(middle, first + 19 * k, line, fontsize=9, ha="center", va="center", color=FAINT)


def frame(axes: Axes, left: float, top: float, width: float, height: float, text: str) -> None:
    """A dashed frame around what belongs together, named above."""
    axes.add_patch(
        FancyBboxPatch(
            (left, top),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=12",
            facecolor="none",
            edgecolor=FAINT,
            linestyle=(0, (5, 4)),
        )
    )
    note(axes, left + width / 2, top - 12, text)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "", carries: str = "") -> None:
    """An arrow with its name above and what it carries below."""
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=13, color=ACCENT, linewidth=1.4, shrinkA=0, shrinkB=0
        )
    )
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    if text:
        axes.text(x, y - 11, text, fontsize=9.5, ha="center", va="center", color=INK, backgroundcolor="none")
    if carries:
        axes.text(x, y + 11, carries, fontsize=8.5, ha="center", va="center", color=FAINT)


def lane(axes: Axes, x: float, top: float, bottom: float, name: str) -> None:
    """A role and its line of time."""
    axes.plot([x, x], [top + 34, bottom], color=GRID, linewidth=2, zorder=0)
    box(axes, x - 66, top, 132, 34, name, ())


def bars(figure: Figure, left: float, top: float, width: float, height: float, values: np.ndarray, title: str) -> None:
    """Values of classes as bars with their ranks, in their own axes."""
    tall = figure.get_figheight() * 100
    axes = figure.add_axes((left / WIDTH, 1 - (top + height) / tall, width / WIDTH, height / tall))
    places = np.arange(len(values))
    axes.bar(places, values, color=ACCENT, width=0.6)
    axes.axhline(0, color=FAINT, linewidth=0.8)
    ranks = (-values).argsort().argsort() + 1
    reach = float(values.max() - min(values.min(), 0.0))
    for place, value, rank in zip(places.tolist(), values.tolist(), ranks.tolist(), strict=True):
        axes.text(place, max(value, 0.0) + 0.04 * reach, f"{rank}", ha="center", va="bottom", fontsize=8.5, color=INK)
    axes.set_ylim(min(values.min(), 0.0) - 0.05 * reach, values.max() + 0.22 * reach)
    axes.set_xticks([])
    axes.tick_params(labelsize=8, colors=FAINT, length=2)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.patch.set_alpha(0.0)
    axes.set_title(title, fontsize=9.5, color=INK)
