"""The privacy-utility picture: what the best attacker misses, against how far the defense moves the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes

from privee.audit.grades import GRADES, OTHER
from privee.audit.report import charts
from privee.audit.report.charts import scale_error, scale_moved
from privee.audit.report.label_placement import Box, LabelledPoint, needs_leader, place_labels
from privee.audit.report.number_format import number
from privee.audit.results import Card

MARKER = 8.0
LABEL_SIZE, NOTE_SIZE = 10.5, 10.0
NEAR, ANYWHERE = 14.0, 400.0
"""How far a name may be from its point, and a number (which has a line to it), in points."""


class Tradeoff(NamedTuple):
    """The chart; its points are numbered in the order of the cards if their names would not fit."""

    svg: Markup
    numbered: bool


def tradeoff_chart(cards: Sequence[Card], name: str, title: str) -> Tradeoff:
    """One labelled point per setting, with the guesses as lines."""
    with charts.chart_settings(name):
        axes = charts.new_axes(left=54, right=80, top=28, bottom=44)
        scale = scale_moved(axes, [card.mean_l1_moved for card in cards])
        guess, means = cards[0].guess.error.mean, cards[0].mean_guess.mean
        scale_error(axes, max(guess, *(card.headline.error.mean for card in cards)), means)
        charts.axis_titles(
            axes,
            y="↑ safer: error of the best attacker (feature MSE)",
            x=f"← more useful: mean L1 distance moved{scale}",
        )
        lines = _guess_lines(axes, cards[0])
        for card in cards:
            _draw_point(axes, card)
        numbered = _draw_labels(axes, cards, lines)
        return Tradeoff(charts.inline_svg(axes, name, _describe(cards, title)), numbered)


def _describe(cards: Sequence[Card], title: str) -> str:
    points = "; ".join(f"{c.defense}: {number(c.headline.error.mean)} at {number(c.mean_l1_moved)}" for c in cards)
    return f"{title}: error left to the best attacker against mean L1 distance moved. {points}."


def _guess_lines(axes: Axes, card: Card) -> list[Box]:
    """Lines across, named in the margin where no point can be; returns where they are."""
    lines = {"best guess": card.guess.error.mean, "column means": card.mean_guess.mean}
    if number(lines["best guess"]) == number(lines["column means"]):
        lines = {"best guess = column means": lines["best guess"]}
    top = axes.get_ylim()[1]
    heights = []
    for style, value in zip(("-", "--"), lines.values(), strict=False):
        heights.append(float(axes.transData.transform((0, min(value, top)))[1]))
        if value <= top:
            axes.axhline(value, color=charts.FAINT, linewidth=1.1, linestyle=style, zorder=1)
    order = sorted(range(len(heights)), key=heights.__getitem__)
    frame = axes.get_window_extent()
    placed = charts.spread([heights[k] for k in order], 25, frame.y0, frame.y1 - 4)
    for height, (text, value) in zip(placed, [list(lines.items())[k] for k in order], strict=True):
        arrow = "↑ " if value > top else ""
        _margin_note(axes, frame.x1 + 4, height, [*text.split(" = "), f"{arrow}{number(value)}"])
    return [Box(frame.x0, height - 0.5, frame.x1, height + 0.5) for height in heights]


def _margin_note(axes: Axes, x: float, y: float, lines: Sequence[str]) -> None:
    for k, line in enumerate(lines):
        place = y + (len(lines) / 2 - k - 0.5) * 1.15 * NOTE_SIZE
        axes.annotate(
            line, (x, place), xycoords="figure points", va="center_baseline", size=NOTE_SIZE, color=charts.FAINT
        )


def _draw_point(axes: Axes, card: Card) -> None:
    error, grade = card.headline.error, GRADES.get(card.grade, OTHER)
    if error.low is not None and error.high is not None:
        axes.vlines(card.mean_l1_moved, error.low, error.high, color=grade.colour, linewidth=1.3, alpha=0.6, zorder=2)
    axes.plot(
        [card.mean_l1_moved],
        [error.mean],
        grade.marker,
        color=grade.colour,
        markersize=MARKER - 1,
        markeredgecolor="white",
        markeredgewidth=0.8,
        zorder=3,
    )


def _draw_labels(axes: Axes, cards: Sequence[Card], lines: Sequence[Box]) -> bool:
    """Names if all of them fit beside their points, else numbers; returns whether it is numbers."""
    points = [_on_page(axes, card.mean_l1_moved, card.headline.error.mean) for card in cards]
    window = axes.get_window_extent()
    frame = Box(window.x0 + 1, window.y0 + 1, window.x1 - 1, window.y1)
    bars = [bar for card in cards for bar in _bar(axes, card)]
    names, numbers = [" ".join(card.defense.split()) for card in cards], [str(k + 1) for k in range(len(cards))]
    for texts, furthest, cross in ((names, NEAR, False), (numbers, ANYWHERE, False), (numbers, ANYWHERE, True)):
        sizes = [_with_room(*charts.text_size(text, LABEL_SIZE, bold=texts is numbers)) for text in texts]
        boxes = place_labels(
            points, sizes, frame, [*lines, *bars], marker=MARKER, furthest=furthest, lines_may_cross=cross
        )
        if boxes is not None:
            break
    for text, point, box in zip(texts, points, boxes or [], strict=False):  # hundreds of points stay bare
        _write(axes, text, point, box, bold=texts is numbers)
    return texts is numbers


def _with_room(width: float, height: float) -> tuple[float, float]:
    """Neighbouring numbers must not read as one."""
    return width + 3, height


def _on_page(axes: Axes, x: float, y: float) -> LabelledPoint:
    place = axes.transData.transform((x, y))
    return LabelledPoint(float(place[0]), float(place[1]))


def _bar(axes: Axes, card: Card) -> list[Box]:
    error = card.headline.error
    if error.low is None or error.high is None:
        return []
    low, high = (_on_page(axes, card.mean_l1_moved, value) for value in (error.low, error.high))
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
