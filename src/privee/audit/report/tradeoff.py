"""The privacy-utility picture: how much of the worst column stays hidden, against what the release costs the task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from privee.audit.grades import GRADES, OTHER
from privee.audit.report import charts
from privee.audit.report.advice import MOST_LOST, auc_lost
from privee.audit.report.charts import plain_tick, scale_from_zero, scale_moved
from privee.audit.report.label_placement import Box, LabelledPoint, needs_leader, place_labels
from privee.audit.report.number_format import label, number, ratio
from privee.audit.results import Card, SubjectInfo

MARKER = 8.0
LABEL_SIZE, NOTE_SIZE = 10.5, 10.0
NEAR, ANYWHERE = 14.0, 400.0
"""How far a name may be from its point, and a number (which has a line to it), in points."""
HIGHEST = 1.06


class Point(NamedTuple):
    """One release: what it costs, and what is left of its worst column."""

    defense: str
    grade: str
    lost: float
    left: float
    low: float
    high: float


class Tradeoff(NamedTuple):
    """The chart; its points are numbered in the order of the cards if their names would not fit.

    `by_auc` says whether the task's loss is told in AUC; otherwise by how far scores are moved.
    """

    svg: Markup
    numbered: bool
    by_auc: bool
    points: tuple[Point, ...]


def tradeoff_points(info: SubjectInfo, cards: Sequence[Card]) -> tuple[tuple[Point, ...], bool]:
    """The points, and whether they tell AUC lost: where that is known of all of them."""
    lost = [auc_lost(info, card) for card in cards]
    by_auc = all(value is not None for value in lost)
    points = []
    for card, value in zip(cards, lost, strict=True):
        cost = max(0.0, value) if by_auc and value is not None else card.mean_l1_moved
        worst = card.worst
        mean = min(1.0, card.guess_normalised)
        left = (mean, mean, mean) if worst is None else (worst.remaining, worst.low, min(HIGHEST, worst.high))
        points.append(Point(card.defense, card.grade, cost, *left))
    return tuple(points), by_auc


def tradeoff_chart(info: SubjectInfo, cards: Sequence[Card], name: str) -> Tradeoff:
    """One labelled point per release."""
    points, by_auc = tradeoff_points(info, cards)
    whole = "of the worst column" if any(card.columns for card in cards) else "on average over columns"
    with charts.chart_settings(name):
        axes = charts.new_axes(left=34, right=80, top=28, bottom=44)
        cost = _scale_lost(axes, points, by_auc=by_auc)
        axes.set_ylim(-0.05, HIGHEST)
        axes.yaxis.set_major_locator(FixedLocator([0.0, 0.1, 0.5, 0.9, 1.0]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: "" if value == 0.9 else plain_tick(value)))
        charts.axis_titles(axes, y=f"↑ safer: what stays hidden {whole}", x=f"← more useful: {cost}")
        lines = _lines(axes, by_auc=by_auc)
        for point in points:
            _draw_point(axes, point)
        numbered = _draw_labels(axes, points, lines)
        return Tradeoff(charts.inline_svg(axes, name, _describe(points, info.name, cost)), numbered, by_auc, points)


def _scale_lost(axes: Axes, points: Sequence[Point], *, by_auc: bool) -> str:
    """Returns what to call the axis."""
    lost = [point.lost for point in points]
    if not by_auc:
        return f"mean L1 distance moved{scale_moved(axes, lost)}"
    scale_from_zero(axes, max(*lost, 1.2 * MOST_LOST))
    return "AUC lost"


def _describe(points: Sequence[Point], title: str, cost: str) -> str:
    said = "; ".join(f"{point.defense}: {ratio(point.left)} at {number(point.lost)}" for point in points)
    return f"{title}: what stays hidden against {cost}. {said}."


def _lines(axes: Axes, *, by_auc: bool) -> list[Box]:
    """What a guess leaves, and from where on the task is destroyed, named in the margins; returns where they are."""
    axes.axhline(1.0, color=charts.FAINT, linewidth=1.1, zorder=1)
    frame = axes.get_window_extent()
    height = float(axes.transData.transform((0, 1.0))[1])
    _margin_note(axes, frame.x1 + 4, height - 6, ["1: nothing", "told beyond", "a guess"])
    boxes = [Box(frame.x0, height - 0.5, frame.x1, height + 0.5)]
    if by_auc:
        axes.axvspan(MOST_LOST, axes.get_xlim()[1], color=charts.GRID, alpha=0.45, linewidth=0, zorder=0)
        left = float(axes.transData.transform((MOST_LOST, 0))[0])
        _margin_note(axes, frame.x1 + 4, frame.y0 + 18, ["grey: the", "task is", "destroyed"])
        boxes.append(Box(left - 0.5, frame.y0, left + 0.5, frame.y1))
    return boxes


def _margin_note(axes: Axes, x: float, y: float, lines: Sequence[str]) -> None:
    for k, line in enumerate(lines):
        place = y + (len(lines) / 2 - k - 0.5) * 1.15 * NOTE_SIZE
        axes.annotate(
            line, (x, place), xycoords="figure points", va="center_baseline", size=NOTE_SIZE, color=charts.FAINT
        )


def _draw_point(axes: Axes, point: Point) -> None:
    grade = GRADES.get(point.grade, OTHER)
    if point.low < point.high:
        axes.vlines(point.lost, point.low, point.high, color=grade.colour, linewidth=1.3, alpha=0.6, zorder=2)
    axes.plot(
        [point.lost],
        [point.left],
        grade.marker,
        color=grade.colour,
        markersize=MARKER - 1,
        markeredgecolor="white",
        markeredgewidth=0.8,
        zorder=3,
    )


def _draw_labels(axes: Axes, points: Sequence[Point], lines: Sequence[Box]) -> bool:
    """Names if all of them fit beside their points, else numbers; returns whether it is numbers."""
    places = [_on_page(axes, point.lost, point.left) for point in points]
    window = axes.get_window_extent()
    frame = Box(window.x0 + 1, window.y0 + 1, window.x1 - 1, window.y1)
    bars = [bar for point in points for bar in _bar(axes, point)]
    names, numbers = [label(point.defense) for point in points], [str(k + 1) for k in range(len(points))]
    for texts, furthest, cross in ((names, NEAR, False), (numbers, ANYWHERE, False), (numbers, ANYWHERE, True)):
        sizes = [_with_room(*charts.text_size(text, LABEL_SIZE, bold=texts is numbers)) for text in texts]
        boxes = place_labels(
            places, sizes, frame, [*lines, *bars], marker=MARKER, furthest=furthest, lines_may_cross=cross
        )
        if boxes is not None:
            break
    for text, place, box in zip(texts, places, boxes or [], strict=False):  # hundreds of points stay bare
        _write(axes, text, place, box, bold=texts is numbers)
    return texts is numbers


def _with_room(width: float, height: float) -> tuple[float, float]:
    """Neighbouring numbers must not read as one."""
    return width + 3, height


def _on_page(axes: Axes, x: float, y: float) -> LabelledPoint:
    place = axes.transData.transform((x, y))
    return LabelledPoint(float(place[0]), float(place[1]))


def _bar(axes: Axes, point: Point) -> list[Box]:
    if point.low >= point.high:
        return []
    low, high = (_on_page(axes, point.lost, value) for value in (point.low, point.high))
    return [Box(low.x - 1.5, low.y, low.x + 1.5, high.y)]


def _write(axes: Axes, text: str, point: LabelledPoint, box: Box, *, bold: bool) -> None:
    axes.annotate(
        text,
        ((box.left + box.right) / 2, (box.bottom + box.top) / 2),
        xycoords="figure points",
        ha="center",
        va="center_baseline",
        size=LABEL_SIZE,
        weight="bold" if bold else "normal",
        zorder=5,
        parse_math=False,
        bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.3},  # where a line must cross
    )
    if needs_leader(point, box, MARKER):
        end = box.nearest(point)
        axes.annotate(
            "",
            end,
            point,
            xycoords="figure points",
            textcoords="figure points",
            arrowprops={"arrowstyle": "-", "color": charts.FAINT, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0},
            zorder=2.5,  # under the points
        )
