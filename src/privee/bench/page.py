"""The leaderboard as a page: how to read it, all models together, equal epsilons, then every model by itself."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from privee.atomic import refuse_existing, whole_file
from privee.bench.attacks_section import attacks_section
from privee.bench.board import Board, board_text
from privee.bench.equal_epsilon import section as equal_epsilon_section
from privee.bench.marks import legend, marks, marks_of
from privee.bench.page_notes import epsilons, made, not_in_it, weak_guesses
from privee.bench.picture import SHOWN_DPI, draw
from privee.bench.rows import Row
from privee.bench.summary import Line, Spread, lines_of
from privee.bench.tried import Left
from privee.errors import PriveeError
from privee.paper.report.markdown_tables import markdown

HOW_TO_READ = """\
# Leaderboard

Every defense of privee, and every protection that is part of a model, under every attack, on the same models. This
page, its picture and [its figures]({json}) are written by `privee bench`; nothing here is written by hand.

**Left** is what an attacker is left with: the error of the best attack of the row over that of the best guess without
any release, in mean squares. 1: the release told nothing. 0: it told all. The attacker knows the defense and the
model, and asks in one of three ways: *once* (the columns that the record has), *ten times* (the same, fresh draws
each time), *5 chosen* (five times, with own columns of its choice). Whoever may ask more may also ask less. "Mean" is
over all private columns, "column" the column told best; a column counts as told only if that is no chance (5 % for
all columns and attacks of a way of asking together). Where none is, or where those that may be chance would be told
better, the mean stands for it, which is more than the column told best can be left with: some hundred records do not
show which one it is. Who asks five times may also ask five times about the columns that the record has; that is not
tried by itself, so where draws are fresh, *ten times* belongs beside *5 chosen*.

**Moved** is the mean L1 distance of a release from the scores (2 at most between probabilities). *Ranking* and *top*
are the shares of records whose ranking of classes, and whose first class, are exactly those of the scores.
Calibration is that of the release as it stands (values below zero set to zero, the rest made to sum to one).
Microseconds are processor time per vector in batches of 1,000. *Distances* and *inner products* are correlations,
over pairs of records, of what scores have with what releases have; *near* is the rank correlation of distances;
*correlations* is 1 minus half the mean gap between the correlations of pairs of classes. 1 is all kept, 0 none: the
structure that the paper leaves to future work.

A protection (`seal:...`, `embedding:...`) is part of the model. It is measured with its scores released as they are;
what it moves and keeps is told against the scores of the model without it, and no order is proven. "What is sent" is
what is left to a curious coordinator, or whoever else has all that the passive party sends: its embedding, or a
seal's code, beyond which no question can tell anything. A release does nothing about it, so it stands with `none` and
with protections alone.

Lines stand in the order of what the strongest of the three attackers is left with, on average over columns. **A high
place is worth nothing if the scores were destroyed on the way:** look at moved, AUC and ranking beside it."""

Cell = Callable[[Any], str]


def check_page(target: Path) -> dict[str, Path]:
    """Refuse what cannot be written, before hours are spent on what it would say; returns the files by kind."""
    if target.suffix != ".md":
        raise PriveeError(f"the leaderboard is a Markdown page: give it a name that ends in .md, not {target.name}")
    picture = target.parent / "images" / f"{target.stem}.png"
    files = {"page": target, "picture": picture, "json": target.with_suffix(".json")}
    for file in files.values():
        refuse_existing(file, force=True)
        above = next(folder for folder in file.parents if folder.exists())
        if not above.is_dir():
            raise PriveeError(f"cannot write {file}: {above} is not a folder")
        if not os.access(above, os.W_OK | os.X_OK):
            raise PriveeError(f"cannot write {file}: nothing may be written to {above}")
    return files


def write_page(board: Board, target: Path) -> dict[str, Path]:
    """Write the page, the picture in a folder `images` beside it, and the figures; returns the files by kind.

    All three are made before any is written.
    """
    files, lines, picture = check_page(target), lines_of(board), io.BytesIO()
    draw(lines).savefig(picture, format="png", dpi=SHOWN_DPI, metadata={"Software": None})
    made = {
        "page": page(board, lines, target.stem).encode(),
        "picture": picture.getvalue(),
        "json": board_text(board).encode(),
    }
    for kind, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file, force=True) as partial:
            partial.write_bytes(made[kind])
    return files


def page(board: Board, lines: Sequence[Line], stem: str) -> str:
    """The whole page."""
    models = list(dict.fromkeys((row.dataset, row.model) for row in board.rows))
    parts = [
        HOW_TO_READ.format(json=f"{stem}.json"),
        "## All models together",
        f"![What is left against how far scores are moved, one point per defense](images/{stem}.png)",
        "Above: on average over columns, on the median model. Below: in the column told best, by the strongest of the "
        "three ways of asking, on the median model and on the worst.",
        f"Median over the models ({', '.join(' '.join(one) for one in models)}), in brackets the worst of them. Lost: "
        "against the scores themselves, in points.",
        _summary(lines),
        *filter(None, [epsilons(board), weak_guesses(board)]),
        equal_epsilon_section(board),
        *filter(None, [attacks_section(board)]),
        "## Every model",
        *(_model(board, dataset, model) for dataset, model in models),
        not_in_it(board),
        made(board),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(lines: Sequence[Line]) -> str:
    head = (
        "",
        "models",
        "once",
        "ten times",
        "5 chosen",
        "column",
        "moved",
        "ranking",
        "top",
        "accuracy lost",
        "AUC lost",
    )
    more = ("calibration", "µs", "distances", "inner products", "correlations", "epsilon", "order proven")
    body = [
        [
            f"`{line.what}`{marks_of(line)}",
            str(line.models),
            *(_both(one, _share) for one in (line.once, line.ten, line.chosen, line.column)),
            _both(line.l1_moved, _moved),
            *(_both(one, _percent) for one in (line.ranking_kept, line.top_kept)),
            *(_both(one, _points) for one in (line.accuracy_lost, line.auc_lost)),
            _both(line.calibration_error, _moved),
            _both(line.microseconds, _short),
            *(_both(one, _share) for one in (line.distances, line.inner_products, line.correlations)),
            "" if line.epsilon is None else f"{line.epsilon:g}",
            _yes(line.order_proven),
        ]
        for line in lines
    ]
    table = markdown((*head, *more), body, 1, fold=False)
    return "\n\n".join([table, *(words.replace("*", "\\*") for words in legend(lines))])


def _model(board: Board, dataset: str, model: str) -> str:
    rows = [row for row in board.rows if (row.dataset, row.model) == (dataset, model)]
    usable = sorted(
        (row for row in rows if not row.reason), key=lambda row: -1.0 if row.least is None else row.least, reverse=True
    )
    not_used = [f"`{row.what}`: {row.reason}" for row in rows if row.reason]
    parts = [f"### {dataset}, {model}", _left_table(usable), _kept_table(usable)]
    return "\n\n".join([*parts, *(["Not possible here: " + "; ".join(not_used) + "."] if not_used else [])])


def _left_table(rows: Sequence[Row]) -> str:
    ways = ("once", "ten times", "5 chosen")
    head = [
        "left",
        *(f"{way}, {what}" for way in ways for what in ("mean", "column")),
        "without end",
        "column told best",
    ]
    body = [
        [
            f"`{row.what}`{marks(missing=bool(row.missing), older=row.older)}",
            *(text for left in (row.once, row.ten, row.chosen) for text in _two(left)),
            "" if row.coordinator is None else " / ".join(_two(row.coordinator)),
            _told(row),
        ]
        for row in rows
    ]
    return markdown([*head, "best attack"], [[*line, _attack(row)] for line, row in zip(body, rows, strict=True)], 1)


def _kept_table(rows: Sequence[Row]) -> str:
    head = ("kept", "moved", "ranking", "top", "accuracy", "AUC", "calibration", "µs", "distances", "near")
    body = [
        [
            f"`{row.what}`",
            _given(row.worth.get("l1_moved"), _moved),
            *(_given(row.worth.get(name), _percent) for name in ("ranking_kept", "top_kept")),
            *(_given(row.worth.get(name), _moved) for name in ("accuracy", "auc", "calibration_error")),
            _given(row.worth.get("microseconds"), _short),
            *(_given(value, _share) for value in row.worth.get("structure", {}).values()),
            _given(row.worth.get("epsilon"), lambda value: f"{value:g}"),
        ]
        for row in rows
        if row.worth
    ]
    return markdown((*head, "inner products", "correlations", "epsilon"), body, 1)


def _told(row: Row) -> str:
    found = [left for left in (row.once, row.ten, row.chosen) if left is not None and left.column]
    return min(found, key=lambda left: left.worst).column if found else ""


def _attack(row: Row) -> str:
    found = [left for left in (row.once, row.ten, row.chosen) if left is not None and left.attack]
    return f"`{min(found, key=lambda left: left.mean).attack}`" if found else "none beats the guess"


def _two(left: Left | None) -> tuple[str, str]:
    return ("", "") if left is None else (_share(left.mean), _share(left.worst))


def _both(found: Spread | None, words: Cell) -> str:
    return "" if found is None else f"{words(found.median)} ({words(found.worst)})"


def _given(value: Any, words: Cell) -> str:
    return "" if value is None else words(value)


def _share(value: float) -> str:
    return f"{value:.2f}"


def _moved(value: float) -> str:
    return f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _points(value: float) -> str:
    return f"{100 * value:.1f}".replace("-0.0", "0.0")


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def _yes(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"
