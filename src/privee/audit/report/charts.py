"""Charts as inline SVG: text stays text, ids are unique on the page, and nothing is left behind in matplotlib."""

from __future__ import annotations

import contextlib
import io
import math
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from privee.audit.report.number_format import label

INK, FAINT, GRID = "#1f2933", "#52606d", "#e4e7eb"
FONT_SIZE = 11.0
LABEL_SIZE = 10.5
WIDTH, HEIGHT = 5.2, 3.6
"""Inches: text is legible when a phone shows this 350 pixels wide."""

XLINK = "http://www.w3.org/1999/xlink"
MEASURED_FONT = "DejaVu Sans"  # comes with matplotlib, and is wider than what browsers will use
SHOWN_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


@contextlib.contextmanager
def chart_settings(name: str) -> Iterator[None]:
    """Settings for one chart; they are undone at the end."""
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.family": MEASURED_FONT,
        "font.size": FONT_SIZE,
        "axes.edgecolor": FAINT,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": FAINT,
        "ytick.color": FAINT,
        "path.simplify": False,
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        # A name may hold letters that the measuring font lacks; the browser will find them.
        warnings.filterwarnings("ignore", message=r".*[Gg]lyph.*")
        yield


def new_axes(*, left: float, right: float, top: float, bottom: float, height: float = 72 * HEIGHT) -> Axes:
    """Axes with margins in points; at 72 dots per inch, pixels are points."""
    width = 72 * WIDTH
    figure = Figure(figsize=(WIDTH, height / 72), dpi=72)
    axes = figure.add_axes((left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=3, labelsize=FONT_SIZE)
    return axes


def axis_titles(axes: Axes, *, x: str, y: str) -> None:
    """Titles that lie flat: above the frame for y, below it for x."""
    height = 72 * axes.figure.get_figheight()  # type: ignore[union-attr]
    axes.figure.text(4 / (72 * WIDTH), 1 - 5 / height, y, va="top", fontsize=FONT_SIZE)
    axes.figure.text(axes.get_position().x0, 5 / height, x, va="bottom", fontsize=FONT_SIZE)


def text_size(text: str, points: float, *, bold: bool = False) -> tuple[float, float]:
    """Width and height of a line of text, in points."""
    font = FontProperties(family=MEASURED_FONT, size=points, weight="bold" if bold else "normal")
    narrow = "".join(letter for letter in text if unicodedata.east_asian_width(letter) not in "WF")
    width, _, _ = TextToPath().get_text_width_height_descent(narrow, font, False) if narrow else (0.0, 0, 0)
    return float(width) + 1.1 * points * (len(text) - len(narrow)), 1.1 * points  # wide letters are square


def fitted(text: str, points: float, width: float, *, bold: bool = False) -> str:
    """The text, cut short with an ellipsis if it would be wider than this."""
    line = label(text)
    if text_size(line, points, bold=bold)[0] <= width:
        return line
    short, long = 0, min(len(line), 200)
    while long - short > 1:
        middle = (short + long) // 2
        fits = text_size(line[:middle] + "…", points, bold=bold)[0] <= width
        short, long = (middle, long) if fits else (short, middle)
    return line[:short].rstrip() + "…"


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Heights near the wanted ones (in rising order) that are a gap apart and within bounds as far as there is room."""
    placed: list[float] = []
    for height in wanted:
        placed.append(max(height, placed[-1] + gap if placed else low))
    ceiling = high
    for k in range(len(placed) - 1, -1, -1):
        placed[k] = min(placed[k], ceiling)
        ceiling = placed[k] - gap
    return placed


def name_ends(axes: Axes, ends: Sequence[tuple[float, float]], names: Sequence[str], colours: Sequence[str]) -> None:
    """Each line's name at its right end, moved apart where ends are close, with the colour and a line to the end."""
    frame = axes.get_window_extent()
    places = [axes.transData.transform(end) for end in ends]
    order = sorted(range(len(ends)), key=lambda k: float(places[k][1]))
    heights = spread([float(places[k][1]) for k in order], 1.25 * LABEL_SIZE, frame.y0, frame.y1)
    for height, k in zip(heights, order, strict=True):
        axes.annotate(
            names[k],
            (frame.x1 + 10, height),
            xycoords="figure points",
            va="center_baseline",
            size=LABEL_SIZE,
            color=colours[k],
            weight="bold",
        )
        axes.annotate(
            "",
            (frame.x1 + 8, height),
            (float(places[k][0]) + 4, float(places[k][1])),
            xycoords="figure points",
            textcoords="figure points",
            arrowprops={"arrowstyle": "-", "color": colours[k], "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0},
        )


def inline_svg(axes: Axes, name: str, description: str) -> Markup:
    """The figure as an SVG element for a page on which other charts stand too."""
    buffer = io.StringIO()
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    axes.figure.savefig(buffer, format="svg", metadata=no_metadata)  # type: ignore[union-attr]
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)  # would hold for the whole page; see style.css
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = text.replace(f"'{MEASURED_FONT}'", SHOWN_FONTS)
    view = re.search(r'viewBox="[^"]*"', text)
    assert view is not None  # noqa: S101 (matplotlib always writes one)
    words = escape(description)
    opening = (
        f'<svg class="chart" {view[0]} role="img" aria-labelledby="{name}-title" xmlns:xlink="{XLINK}">'
        f'<title id="{name}-title">{words}</title>'
    )
    return Markup(re.sub(r"^<svg.*?>", lambda _: opening, text, count=1, flags=re.DOTALL))  # noqa: S704 (ours)


DECADES = 5


def scale_moved(axes: Axes, moved: Sequence[float]) -> str:
    """Logarithmic with room for zero where values differ by much; returns what to say about it."""
    largest, positive = max(moved), [value for value in moved if value > 0]
    axes.xaxis.set_minor_locator(NullLocator())
    if not positive or largest < 10 * min(positive):
        scale_from_zero(axes, largest or 1.0)
        return ""
    top = math.ceil(math.log10(largest))
    bottom = max(math.floor(math.log10(min(positive))), top - DECADES)
    axes.set_xscale("symlog", linthresh=10.0**bottom, linscale=0.5)
    axes.set_xlim(-0.25 * 10.0**bottom, max(1.6 * largest, 10.0 ** (top - 0.3)))
    axes.xaxis.set_major_locator(FixedLocator([0.0, *(10.0**k for k in range(bottom, top + 1))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain_tick))
    return " (log scale)"


def scale_from_zero(axes: Axes, largest: float) -> None:
    """From zero to somewhat above the largest value, with round ticks."""
    axes.set_xlim(-0.06 * largest, 1.1 * largest)
    axes.xaxis.set_major_locator(FixedLocator(_round_ticks(1.1 * largest)))
    axes.xaxis.set_major_formatter(FuncFormatter(plain_tick))


def plain_tick(value: float, _: object = None) -> str:
    """A tick in plain decimals.

    Example:
        >>> [plain_tick(value) for value in (0.0, 1e-5, 0.0250, 1000.0)]
        ['0', '0.00001', '0.025', '1,000']
    """
    text = f"{value:,.10f}".rstrip("0").rstrip(".")
    return text or "0"


def _round_ticks(high: float) -> list[float]:
    """About five round numbers from zero up."""
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, high)
    return [float(tick) for tick in ticks if 0 <= tick <= high]
