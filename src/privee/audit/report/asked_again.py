"""The picture of what each further question gives away, asked with own columns of the attacker's choice."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from privee.audit.report import charts
from privee.audit.report.number_format import percent
from privee.audit.report.query_curves import COLOURS, MARKERS
from privee.audit.results import AskedAgain, Card

LEAST = 1e-3
"""Shares below this are drawn here: a logarithmic axis has no room for zero."""
LABELS = 150.0


def asked_chart(cards: Sequence[Card], name: str) -> Markup | None:
    """What is left of a guess's error by number of questions, one line for each release; None if nobody asked again."""
    asked = [(card.defense, card.most_asked) for card in cards]
    lines = [(spec, again) for spec, again in asked if again is not None and len(again.after) > 1]
    if not lines:
        return None
    with charts.chart_settings(name):
        axes = charts.new_axes(left=52, right=LABELS, top=28, bottom=44)
        axes.set(yscale="log", ylim=(0.7 * LEAST, 1.6))
        most = max(len(again.after) for _, again in lines) - 1
        axes.set_xlim(-0.15, most + 0.15)
        axes.xaxis.set_major_locator(FixedLocator(range(0, most + 1, math.ceil(most / 10))))
        axes.yaxis.set_major_locator(FixedLocator([LEAST, 0.01, 0.1, 1.0]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
        for k, (_, again) in enumerate(lines):
            colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
            axes.plot(range(len(again.after)), _drawn(again), color=colour, linewidth=1.6, marker=marker, markersize=4)
        names = [charts.fitted(spec, charts.LABEL_SIZE, LABELS - 14, bold=True) for spec, _ in lines]
        ends = [(len(again.after) - 1.0, _drawn(again)[-1]) for _, again in lines]
        charts.name_ends(axes, ends, names, [COLOURS[k % len(COLOURS)] for k in range(len(lines))])
        charts.axis_titles(axes, y="Left of a guess's error", x="Questions about one record")
        return charts.inline_svg(axes, name, _describe(lines))


def _drawn(again: AskedAgain) -> list[float]:
    return [max(LEAST, share) for share in again.after]


def _describe(lines: Sequence[tuple[str, AskedAgain]]) -> str:
    parts = (f"{spec}: {percent(again.after[-1])} after {len(again.after) - 1}" for spec, again in lines)
    return f"What is left of a guess's error by number of questions with chosen columns. {'; '.join(parts)}."
