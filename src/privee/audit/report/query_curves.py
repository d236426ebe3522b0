"""The repeated-query picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from privee.audit.report import charts
from privee.audit.report.charts import plain_tick
from privee.audit.report.number_format import number
from privee.audit.results import Curve

# After Okabe and Ito, told apart with any kind of colour vision; darker, so that names can be read on white.
COLOURS = ("#0072b2", "#b84a00", "#007a59", "#a3487f", "#8a6d00", "#333333")
MARKERS = ("o", "s", "^", "D", "v", "P")


def curves_chart(curves: Sequence[Curve], name: str) -> Markup:
    """Error by number of queries, one line per rho with its 95 % band, theory dashed."""
    with charts.chart_settings(name):
        axes = charts.new_axes(left=66, right=66, top=28, bottom=44)
        axes.set(xscale="log", yscale="log")
        for k, curve in enumerate(curves):
            _draw(axes, curve, COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)])
        _limit(axes, curves)
        ends = [(float(curve.queries[-1]), curve.mean[-1]) for curve in curves]
        names = [f"\u03c1 = {curve.rho:g}" for curve in curves]
        charts.name_ends(axes, ends, names, [COLOURS[k % len(COLOURS)] for k in range(len(curves))])
        charts.axis_titles(axes, y="Error of the scores worked back (mean absolute)", x="Queries for one record")
        return charts.inline_svg(axes, name, _describe(curves))


def queries_until(curve: Curve, part: int) -> str:
    """How many queries bring the error down to that part of the first one, among the counts that were tried."""
    small = [count for count, error in zip(curve.queries, curve.mean, strict=True) if error <= curve.mean[0] / part]
    return f"{small[0]:,} queries" if small else f"more than {curve.queries[-1]:,}"


def _describe(curves: Sequence[Curve]) -> str:
    lines = "; ".join(
        f"rho {curve.rho:g}: {number(curve.mean[0])} after {curve.queries[0]}, "
        f"{number(curve.mean[-1])} after {curve.queries[-1]:,}"
        for curve in curves
    )
    return f"Error of the repeated-query attack on PRIVEE-U by number of queries. {lines}."


def _draw(axes: Axes, curve: Curve, colour: str, marker: str) -> None:
    floor = 0.1 * min(value for value in (*curve.mean, *curve.theory) if value > 0)
    low = [max(value, floor) for value in curve.low]  # a logarithmic axis has no room for zero
    axes.fill_between(curve.queries, low, curve.high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(curve.queries, curve.mean, color=colour, linewidth=1.6, marker=marker, markersize=4)
    axes.plot(curve.queries, curve.theory, color=charts.INK, linewidth=1.0, linestyle=(0, (4, 3)), zorder=4)


def _limit(axes: Axes, curves: Sequence[Curve]) -> None:
    values = [value for curve in curves for value in (*curve.mean, *curve.theory) if value > 0]
    queries = [count for curve in curves for count in curve.queries]
    axes.set_xlim(0.85 * min(queries), 1.2 * max(queries))
    axes.set_ylim(0.6 * min(values), 1.7 * max(values))
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        axis.set_major_locator(FixedLocator([10.0**k for k in decades]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(plain_tick))
