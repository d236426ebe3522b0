"""The picture by column: how much of each one stays hidden, with the scores as they are and with what is advised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from privee.audit.exposure.findings import ColumnExposure
from privee.audit.grades import GRADES, OTHER
from privee.audit.report import charts
from privee.audit.report.number_format import label, two_decimals
from privee.audit.results import Card

WORST, MOST = 12, 40
"""So many rows; more if more columns are sensitive, up to the second."""
ROW, TOP, BOTTOM = 19.0, 20.0, 36.0
LABELS, PARTY = 176.0, 62.0
"""Widths: of everything left of the frame, and of the part with the party's name."""
TEXT, SMALL = 10.5, 9.5
MARKER = 7.0
SENSITIVE, UNSURE = "★ ", " ?"


class ColumnChart(NamedTuple):
    """The picture; how many columns it leaves out, and how many of those are sensitive."""

    svg: Markup
    shown: int
    more: int
    more_sensitive: int


def column_chart(scores: Card, advised: Card | None, name: str, title: str) -> ColumnChart | None:
    """One row per column: hollow marks for the first card, filled ones for the second; None without columns."""
    rows = chosen_rows(scores.columns)
    if not rows:
        return None
    other = {_key(column): column for column in advised.columns} if advised is not None else {}
    with charts.chart_settings(name):
        height = TOP + ROW * len(rows) + BOTTOM
        axes = charts.new_axes(left=LABELS, right=10, top=TOP, bottom=BOTTOM, height=height)
        _scale(axes, len(rows))
        for k, column in enumerate(rows):
            _label(axes, column, k)
            _marks(axes, column, other, k, alone=advised is None)
        _name_ends(axes)
        svg = charts.inline_svg(axes, name, _describe(rows, other, title))
    all_sensitive, drawn = (sum(column.sensitive for column in some) for some in (scores.columns, rows))
    return ColumnChart(svg, len(rows), len(scores.columns) - len(rows), all_sensitive - drawn)


def chosen_rows(columns: Sequence[ColumnExposure]) -> list[ColumnExposure]:
    """The sensitive ones, then the worst of the others, each worst first."""
    sensitive = [column for column in columns if column.sensitive][:MOST]
    others = [column for column in columns if not column.sensitive]
    return [*sensitive, *others[: max(0, WORST - len(sensitive))]]


def _key(column: ColumnExposure) -> tuple[str, str]:
    return column.party, column.name


def _scale(axes: Axes, rows: int) -> None:
    axes.set_xlim(-0.03, 1.05)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.grid(False)
    limits = [0.0, *(grade.below for grade in GRADES.values() if grade.below < 1), 1.0]
    for k, grade in enumerate(GRADES.values()):
        axes.axvline(limits[k], color=charts.GRID, linewidth=1.0, zorder=0)
        middle = (limits[k] + limits[k + 1]) / 2
        axes.plot([middle], [-0.95], grade.marker, color=grade.colour, markersize=MARKER - 1, clip_on=False, zorder=1)
    axes.axvline(1.0, color=charts.FAINT, linewidth=1.0, zorder=0)
    for k in range(1, rows):
        axes.axhline(k - 0.5, color=charts.GRID, linewidth=0.6, zorder=0)
    axes.xaxis.set_major_locator(FixedLocator([0.0, 0.1, 0.5, 0.9, 1.0]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "" if value in (0.1, 0.9) else charts.plain_tick(value))
    )
    axes.yaxis.set_major_locator(FixedLocator([]))
    axes.spines["left"].set_visible(False)


def _name_ends(axes: Axes) -> None:
    for words, place, side in (("told", 0.0, "left"), ("nothing told", 1.0, "right")):
        x = float(axes.transData.transform((place, 0))[0])
        axes.annotate(words, (x + (-4 if side == "left" else 4), 6), xycoords="figure points", ha=side, size=TEXT)


def _label(axes: Axes, column: ColumnExposure, row: int) -> None:
    party = charts.fitted(column.party, SMALL, PARTY)
    room = LABELS - 18 - charts.text_size(party, SMALL)[0]
    start, end = SENSITIVE if column.sensitive else "", "" if column.settled else UNSURE
    name = charts.fitted(start + label(column.name), TEXT, room - charts.text_size(end, TEXT)[0]) + end
    height = float(axes.transData.transform((0, row))[1])
    for text, x, size, colour, side in (
        (name, 4.0, TEXT, charts.INK, "left"),
        (party, LABELS - 8, SMALL, charts.FAINT, "right"),
    ):
        axes.annotate(
            text,
            (x, height),
            xycoords="figure points",
            ha=side,
            va="center_baseline",
            size=size,
            color=colour,
            parse_math=False,
        )


def _marks(
    axes: Axes, column: ColumnExposure, other: Mapping[tuple[str, str], ColumnExposure], row: int, *, alone: bool
) -> None:
    if alone:
        _mark(axes, column, row, hollow=False)
        return
    _mark(axes, column, row - 0.2, hollow=True)
    if _key(column) in other:
        _mark(axes, other[_key(column)], row + 0.2, hollow=False)


def _mark(axes: Axes, column: ColumnExposure, height: float, *, hollow: bool) -> None:
    grade = GRADES.get(column.grade, OTHER)
    low, high = max(0.0, column.low), min(1.04, column.high)
    axes.hlines(height, min(low, high), high, color=grade.colour, linewidth=1.2, alpha=0.65, zorder=2)
    axes.plot(
        [min(1.0, max(0.0, column.remaining))],
        [height],
        grade.marker,
        color=grade.colour,
        markerfacecolor="white" if hollow else grade.colour,
        markeredgecolor=grade.colour if hollow else "white",
        markeredgewidth=1.3 if hollow else 0.7,
        markersize=MARKER - 1 if hollow else MARKER,
        zorder=3,
    )


def _describe(rows: Sequence[ColumnExposure], other: Mapping[tuple[str, str], ColumnExposure], title: str) -> str:
    said = []
    for column in rows:
        then = other.get(_key(column))
        after = "" if then is None else f", then {two_decimals(then.remaining)} ({then.grade})"
        said.append(
            f"{label(column.name)} of {label(column.party)}: {two_decimals(column.remaining)} ({column.grade}){after}"
        )
    return f"{title}: how much of each private column stays hidden, from 0 to 1. {'; '.join(said)}."
