"""Pictures of results, in the reports' style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privee.audit.report.charts import FAINT, GRID, chart_settings
from privee.audit.report.curves import COLOURS, MARKERS
from privee.paper.results import Value

Points = Sequence[tuple[float, Value]]
PRINTED_COLOURS = ("#7b8794", "#9aa5b1", "#52606d")


def lines(measured: Mapping[str, Points], printed: Mapping[str, Points], *, x: str, y: str, log: bool = True) -> Figure:
    """Measured figures as lines with their bands, printed ones dashed and grey."""
    with chart_settings("lines"):
        figure = Figure(figsize=(8.5, 4.8), dpi=110, layout="constrained")
        axes = figure.add_subplot()
        for k, (name, points) in enumerate(measured.items()):
            _draw(axes, name, points, colour=COLOURS[k % len(COLOURS)], marker=MARKERS[k // len(COLOURS)], style="-")
        for k, (name, points) in enumerate(printed.items()):
            colour = PRINTED_COLOURS[k % len(PRINTED_COLOURS)]
            _draw(axes, name, points, colour=colour, marker=MARKERS[k % len(MARKERS)], style="--")
        _frame(axes, x, y, log)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=9)
        return figure


def _draw(axes: Axes, name: str, points: Points, *, colour: str, marker: str, style: str) -> None:
    places = [place for place, _ in points]
    axes.plot(places, [v.value for _, v in points], style, color=colour, marker=marker, markersize=4, label=name)
    if all(v.low is not None and v.high is not None for _, v in points):
        low, high = [v.low or 0.0 for _, v in points], [v.high or 0.0 for _, v in points]
        axes.fill_between(places, low, high, color=colour, alpha=0.18, linewidth=0)


def _frame(axes: Axes, x: str, y: str, log: bool) -> None:
    if log:
        axes.set(xscale="log", yscale="log")
    axes.set(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=GRID, linewidth=0.8)
    axes.tick_params(colors=FAINT)
