"""The picture of what each further question leaves: two bars for every number of questions."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from privee.atomic import whole_file
from privee.audit.question_curve import QuestionCurve
from privee.audit.report import charts
from privee.audit.report.number_format import percent
from privee.audit.report.query_curves import COLOURS

BAR, TEXT = 0.38, 9.0
DOTS_PER_INCH = 144


def question_chart(curve: QuestionCurve, name: str) -> Markup:
    """The picture for a page."""
    with charts.chart_settings(name):
        return charts.inline_svg(_drawn(curve), name, describe(curve))


def save_question_chart(curve: QuestionCurve, path: Path, *, force: bool = False) -> None:
    """The picture as a file, PNG or SVG by its name."""
    kind = path.suffix.lower().removeprefix(".")
    with charts.chart_settings("question-curve"), whole_file(path, force=force) as partial:
        figure = _drawn(curve).figure
        figure.savefig(partial, format=kind, dpi=DOTS_PER_INCH)  # type: ignore[union-attr]


def describe(curve: QuestionCurve) -> str:
    """The picture in words."""
    points = zip(curve.questions, curve.left, curve.worst, strict=True)
    lines = "; ".join(
        f"{count}: {percent(left)} on average, {percent(worst.left)} of {worst.name}" for count, left, worst in points
    )
    return f"What is left of a guess's error by number of questions about one record, {curve.defense}. {lines}."


def _drawn(curve: QuestionCurve) -> Axes:
    axes = charts.new_axes(left=46, right=10, top=46, bottom=44)
    worst = [column.left for column in curve.worst]
    for values, side, colour in ((curve.left, -0.5, COLOURS[0]), (worst, 0.5, COLOURS[1])):
        places = [k + side * BAR for k in range(len(values))]
        axes.bar(places, values, width=BAR, color=colour)
        for place, value in zip(places, values, strict=True):
            axes.annotate(_rounded(value), (place, value), (0, 2), textcoords="offset points", ha="center", size=TEXT)
    axes.axhline(1.0, color=charts.FAINT, linewidth=1.0)
    _scale(axes, curve)
    charts.axis_titles(axes, y="Left of a guess's error", x="Questions about one record")
    _legend(axes)
    return axes


def _rounded(share: float) -> str:
    """Short enough to stand over a bar."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def _scale(axes: Axes, curve: QuestionCurve) -> None:
    axes.set_ylim(0, 1.12)
    axes.xaxis.set_major_locator(FixedLocator(list(range(len(curve.questions)))))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: str(curve.questions[round(at)])))
    axes.yaxis.set_major_locator(FixedLocator([0.0, 0.25, 0.5, 0.75, 1.0]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axes.grid(False, axis="x")


def _legend(axes: Axes) -> None:
    """The colours' names in a line above the frame."""
    start, height = axes.get_window_extent().x0, axes.get_window_extent().y1 + 8
    for words, colour in (("all private columns", COLOURS[0]), ("the column told best", COLOURS[1])):
        axes.annotate(words, (start, height), xycoords="figure points", color=colour, weight="bold", size=TEXT + 1)
        start += charts.text_size(words, TEXT + 1, bold=True)[0] + 18
