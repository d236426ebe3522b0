"""Protection against distortion, one numbered point per defense.

On average over columns, asked once and five times with chosen columns; below, the one column that is told best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from privee.audit.report.charts import FAINT, GRID, INK, text_size
from privee.audit.report.label_placement import Box, LabelledPoint, needs_leader, place_labels
from privee.audit.report.number_format import label
from privee.bench.summary import Line

WIDTH, HEIGHT, SHOWN_DPI = 820.0, 780.0, 144
"""Points; the file has twice as many dots."""
KEY_WIDTH, LABEL_SIZE, KEY_SIZE = 215.0, 8.5, 8.5
BELOW, BETWEEN, ABOVE = 52.0, 40.0, 26.0
"""Of the panels, for axes and titles."""
MARKER, FURTHEST = 7.0, 400.0
LEAST_MOVED = 1e-3
"""Where those stand that move less, such as the scores themselves."""
LINE = 1.28


class View(NamedTuple):
    """One panel: its title, and which figure of a line it shows."""

    title: str
    left: Callable[[Line], float | None]


VIEWS = (
    (
        View("mean of columns, asked once", lambda line: line.once and line.once.median),
        View("mean of columns, five chosen questions", lambda line: line.chosen and line.chosen.median),
    ),
    (
        View("column told best, median model", lambda line: line.column and line.column.median),
        View("column told best, worst model", lambda line: line.column and line.column.worst),
    ),
)
"""What is told on average, and below it the worst: the strongest of all ways of asking, in the column it tells best."""


class Look(NamedTuple):
    """How one kind of line is drawn, and what the kind is called."""

    colour: str
    marker: str
    words: str


SEALED = Look("#067647", "D", "part of the model")
PROVEN = Look("#0072b2", "o", "epsilon proven")
ORDERED = Look("#8a6d00", "s", "order proven, no epsilon")
NOTHING = Look("#b84a00", "^", "neither proven")
LOOKS = (SEALED, PROVEN, ORDERED, NOTHING)


def look_of(line: Line) -> Look:
    """By what is proven."""
    if line.order_proven is None:
        return SEALED
    return PROVEN if line.epsilon is not None else ORDERED if line.order_proven else NOTHING


def draw(lines: Sequence[Line]) -> Figure:
    """The picture; its numbers are those of the key, in the order of the table.

    What was measured on fewer models than others is hollow: its median is of other models, and does not compare.
    """
    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), dpi=72)
    numbered = list(enumerate(lines, 1))
    wide = (WIDTH - KEY_WIDTH - 50) / 2
    high = (HEIGHT - BELOW - ABOVE - BETWEEN) / 2
    for row, views in enumerate(reversed(VIEWS)):
        for k, view in enumerate(views):
            left, bottom = 42 + k * (wide + 12), BELOW + row * (high + BETWEEN)
            axes = figure.add_axes((left / WIDTH, bottom / HEIGHT, (wide - 6) / WIDTH, high / HEIGHT))
            _panel(axes, numbered, view, named=k == 0)
    _key(figure, numbered, WIDTH - KEY_WIDTH + 2)
    words = "how far scores are moved (mean L1, median over models; those that move nothing stand at the left edge)"
    figure.text(42 / WIDTH, 16 / HEIGHT, words, fontsize=9.5, color=INK)
    return figure


def _panel(axes: Axes, numbered: Sequence[tuple[int, Line]], view: View, *, named: bool) -> None:
    shown = [(k, line, line.l1_moved, view.left(line)) for k, line in numbered]
    points = [(k, line, moved.median, left) for k, line, moved, left in shown if moved and left is not None]
    most = max([2.0, *(moved for *_, moved, _ in points)])
    axes.set(xscale="log", xlim=(0.7 * LEAST_MOVED, 1.6 * most), ylim=(-0.03, 1.06))
    axes.xaxis.set_major_locator(FixedLocator([LEAST_MOVED, 0.01, 0.1, 1.0, 10.0]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: "0" if x <= LEAST_MOVED else f"{x:g}"))
    axes.tick_params(labelsize=9, colors=FAINT, labelleft=named)
    axes.set_title(view.title, loc="left", fontsize=10.5, color=INK)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.axhline(1.0, color=FAINT, linewidth=0.9, zorder=1)
    if named:
        axes.set_ylabel("left of a guess's error (1: nothing told)", fontsize=9.5, color=INK)
    models = _most_models(numbered)
    for _, line, moved, share in points:
        look, whole = look_of(line), line.models == models
        axes.plot(
            [max(LEAST_MOVED, moved)],
            [share],
            look.marker,
            color=look.colour,
            markersize=MARKER - 1,
            markerfacecolor=look.colour if whole else "white",
            markeredgecolor="white" if whole else look.colour,
            markeredgewidth=0.7 if whole else 1.2,
            zorder=3,
        )
    _numbers(axes, [(k, max(LEAST_MOVED, moved), share) for k, _, moved, share in points])


def _most_models(numbered: Sequence[tuple[int, Line]]) -> int:
    return max((line.models for _, line in numbered), default=0)


def _numbers(axes: Axes, points: Sequence[tuple[int, float, float]]) -> None:
    places = [LabelledPoint(*map(float, axes.transData.transform((x, y)))) for _, x, y in points]
    sizes = [(w + 2, h) for w, h in (text_size(str(k), LABEL_SIZE, bold=True) for k, *_ in points)]
    window = axes.get_window_extent()
    frame = Box(window.x0 + 1, window.y0 + 1, window.x1, window.y1)
    height = float(axes.transData.transform((LEAST_MOVED, 1.0))[1])
    guess = [Box(window.x0, height - 0.5, window.x1, height + 0.5)]
    boxes = place_labels(places, sizes, frame, guess, marker=MARKER, furthest=FURTHEST) or place_labels(
        places, sizes, frame, guess, marker=MARKER, furthest=FURTHEST, lines_may_cross=True
    )
    for (k, *_), place, box in zip(points, places, boxes or [], strict=False):  # more than fit stay bare
        middle = ((box.left + box.right) / 2, (box.bottom + box.top) / 2)
        axes.annotate(
            str(k), middle, xycoords="figure points", ha="center", va="center_baseline", size=LABEL_SIZE, weight="bold"
        )
        if needs_leader(place, box, MARKER):
            axes.annotate(
                "",
                box.nearest(place),
                place,
                xycoords="figure points",
                textcoords="figure points",
                arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0},
                zorder=2.5,
            )


def _key(figure: Figure, numbered: Sequence[tuple[int, Line]], start: float) -> None:
    """What the numbers are, and what the shapes are."""
    models = _most_models(numbered)
    fewer = f"hollow: on fewer than {models} models" if any(line.models < models for _, line in numbered) else ""
    rows = len(numbered) + len(LOOKS) + 1 + bool(fewer)
    size = min(KEY_SIZE, (HEIGHT - 24) / (LINE * rows))
    height = HEIGHT - 14.0
    for look in LOOKS:
        _mark(figure, start + 4, height, look)
        _text(figure, start + 14, height, look.words, size, FAINT)
        height -= LINE * size
    if fewer:
        _text(figure, start + 14, height, fewer, size, FAINT)
        height -= LINE * size
    height -= LINE * size
    for k, line in numbered:
        look = look_of(line)
        _text(figure, start, height, str(k), size, look.colour, weight="bold")
        on = "" if line.models == models else f" ({line.models})"
        _text(figure, start + 18, height, f"{label(line.what)}{on}", size, INK)
        height -= LINE * size


def _mark(figure: Figure, x: float, y: float, look: Look) -> None:
    from matplotlib.lines import Line2D

    figure.add_artist(
        Line2D([x / WIDTH], [y / HEIGHT], marker=look.marker, color=look.colour, markersize=5, linestyle="none")
    )


def _text(figure: Figure, x: float, y: float, words: str, size: float, colour: str, weight: str = "normal") -> None:
    figure.text(x / WIDTH, y / HEIGHT, words, fontsize=size, color=colour, va="center", weight=weight, parse_math=False)
