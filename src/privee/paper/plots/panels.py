"""Pictures of results in the reports' style: panels of points, and of curves with bands, theory dashed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privee.audit.report.charts import FAINT, GRID, INK, chart_settings
from privee.audit.report.query_curves import COLOURS, MARKERS
from privee.paper.outcomes import Value

Points = Sequence[tuple[float, Value]]
PRINTED_COLOURS = ("#7b8794", "#9aa5b1", "#52606d")
MOST_BANDS = 6
"""With more lines than this their bands hide each other; the tables have them."""

DECADE = 10.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes: measured figures as lines with their bands, printed ones dashed and grey."""

    title: str
    x: str
    y: str = ""
    measured: Mapping[str, Points]
    printed: Mapping[str, Points] = dataclasses.field(default_factory=dict)
    log: tuple[bool, bool] = (True, True)


def draw(*panels: Panel) -> Figure:
    """Panels side by side with one legend; a name has the same colour in all of them."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.measured))
    dashed = list(dict.fromkeys(name for panel in panels for name in panel.printed))
    longest = max(map(len, [*names, *dashed]), default=0)
    with chart_settings("panels"):
        size = (4.2 * len(panels) + max(3.3, 0.1 * longest), 4.6)
        figure = Figure(figsize=size, dpi=110, layout="constrained")
        for panel, axes in zip(panels, figure.subplots(1, len(panels), squeeze=False)[0], strict=True):
            for name, points in panel.measured.items():
                _draw(axes, name, points, *_look(names.index(name)), "-")
                if len(names) <= MOST_BANDS:
                    _band(axes, points, _look(names.index(name))[0])
            for name, points in panel.printed.items():
                k = dashed.index(name)
                _draw(axes, name, points, PRINTED_COLOURS[k % len(PRINTED_COLOURS)], MARKERS[k % len(MARKERS)], "--")
            _frame(axes, panel)
        pairs = (zip(*axes.get_legend_handles_labels(), strict=True) for axes in figure.axes)
        handles = {label: line for some in pairs for line, label in some}
        figure.legend(list(handles.values()), list(handles), loc="outside right upper", frameon=False, fontsize=9)
        return figure


def _look(k: int) -> tuple[str, str]:
    return COLOURS[k % len(COLOURS)], MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]


def _draw(axes: Axes, name: str, points: Points, colour: str, marker: str, style: str) -> None:
    places = [place for place, _ in points]
    axes.plot(places, [v.value for _, v in points], style, color=colour, marker=marker, markersize=4, label=name)


def _band(axes: Axes, points: Points, colour: str) -> None:
    places = [place for place, _ in points]
    if all(v.low is not None and v.high is not None for _, v in points):
        low, high = [v.low or 0.0 for _, v in points], [v.high or 0.0 for _, v in points]
        axes.fill_between(places, low, high, color=colour, alpha=0.18, linewidth=0)


def _frame(axes: Axes, panel: Panel) -> None:
    axes.set(xscale="log" if panel.log[0] else "linear", yscale="log" if panel.log[1] else "linear")
    axes.set(xlabel=panel.x, ylabel=panel.y)
    if panel.log[1]:
        _at_least_a_decade(axes)
    if not panel.log[0]:
        axes.set_xticks(_places(panel))
    axes.set_title(panel.title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=GRID, linewidth=0.8)
    axes.tick_params(colors=FAINT)


def _at_least_a_decade(axes: Axes) -> None:
    """What hardly differs shall look like it."""
    low, high = axes.get_ylim()
    if low > 0 and high / low < DECADE:
        middle = (low * high) ** 0.5
        axes.set_ylim(middle / DECADE**0.5, middle * DECADE**0.5)


def _places(panel: Panel) -> list[float]:
    """Where something was measured or printed."""
    return sorted({place for points in (*panel.measured.values(), *panel.printed.values()) for place, _ in points})


DASHES = (0, (4, 3))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
    """One curve, and what theory says of it (empty if nothing)."""

    name: str
    measured: Points
    theory: Points = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class CurvePanel:
    """One set of axes."""

    title: str
    lines: Sequence[Line]


def panel_grid(panels: Sequence[Sequence[CurvePanel]], *, x: str, y: Sequence[str]) -> Figure:
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


def _fill(axes: Axes, panel: CurvePanel) -> None:
    axes.set(xscale="log", yscale="log")
    for k, line in enumerate(panel.lines):
        _draw_curve(axes, line, COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)])
    with_theory = next((line for line in panel.lines if line.theory), None)
    if with_theory is not None:
        axes.plot([], [], color=INK, linewidth=1.0, linestyle=DASHES, label="theory")
    axes.set_title(panel.title, fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=9)


def _draw_curve(axes: Axes, line: Line, colour: str, marker: str) -> None:
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
