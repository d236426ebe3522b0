"""Panels of curves on logarithmic axes: measured with bands, theory dashed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privee.audit.report.charts import FAINT, GRID, INK, chart_settings
from privee.audit.report.curves import COLOURS, MARKERS
from privee.paper.plots import Points

DASHES = (0, (4, 3))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
    """One curve, and what theory says of it (empty if nothing)."""

    name: str
    measured: Points
    theory: Points = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes."""

    title: str
    lines: Sequence[Line]


def panel_grid(panels: Sequence[Sequence[Panel]], *, x: str, y: Sequence[str]) -> Figure:
    """Rows of panels that share their scales, each with its own words at the left; one legend below."""
    rows, columns = len(panels), max(map(len, panels))
    with chart_settings("panels"):
        figure = Figure(figsize=(10.0 if columns > 1 else 6.4, 1.0 + 3.4 * rows), dpi=100, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey="row")
        for axes_row, panel_row, words in zip(grid, panels, y, strict=True):
            axes_row[0].set_ylabel(words, fontsize=10)
            for axes, panel in zip(axes_row, panel_row, strict=True):
                _fill(axes, panel)
        for axes in grid[-1]:
            axes.set_xlabel(x, fontsize=10)
        handles, names = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False, fontsize=10)
        return figure


def _fill(axes: Axes, panel: Panel) -> None:
    axes.set(xscale="log", yscale="log")
    for k, line in enumerate(panel.lines):
        _draw(axes, line, COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)])
    with_theory = next((line for line in panel.lines if line.theory), None)
    if with_theory is not None:
        axes.plot([], [], color=INK, linewidth=1.0, linestyle=DASHES, label="theory")
    axes.set_title(panel.title, fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=9)


def _draw(axes: Axes, line: Line, colour: str, marker: str) -> None:
    places, values = [place for place, _ in line.measured], [value for _, value in line.measured]
    axes.plot(places, [v.value for v in values], color=colour, marker=marker, markersize=4, label=line.name)
    if all(v.low is not None and v.high is not None for v in values):
        low = [max(v.low or 0.0, 0.1 * v.value) for v in values]  # a logarithmic axis has no room for zero
        axes.fill_between(places, low, [v.high or 0.0 for v in values], color=colour, alpha=0.18, linewidth=0)
    if line.theory:
        axes.plot(
            [place for place, _ in line.theory],
            [v.value for _, v in line.theory],
            color=INK,
            linewidth=1.0,
            linestyle=DASHES,
            zorder=4,
        )
