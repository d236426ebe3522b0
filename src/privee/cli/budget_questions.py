"""`privee budget RUN`: what each further question about a record can give away on this run's model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.table import Table

from privee.atomic import refuse_existing
from privee.cli.model_options import check_source, chosen_subject, question_counts
from privee.cli.output import out, print_json, progress_bar
from privee.defenses import defense as make_defense
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.audit.question_curve import QuestionCurve

QUESTIONS = "1,2,3,5,10"
FORMATS = (".png", ".svg")


def measured_curve(
    run: Path,
    defense: str,
    questions: str,
    *,
    party: Sequence[str] | None,
    records: int,
    auxiliary: int,
    seed: int,
    data_dir: Path | None,
    picture: Path | None,
    force: bool,
) -> QuestionCurve:
    """The curve, and its picture if a file was named. What is wrong is said before PyTorch is loaded."""
    counts, chosen = question_counts(questions), make_defense(defense)
    check_source(run, dataset=None, entry=None, party=party, models=[])
    if picture is not None:
        if picture.suffix.lower() not in FORMATS:
            raise PriveeError(f"cannot tell the format of {picture}; a picture ends in {' or '.join(FORMATS)}")
        refuse_existing(picture, force)

    from privee.audit.question_curve import question_curve
    from privee.audit.report.question_chart import save_question_chart

    nowhere = {"dataset": None, "entry": None, "split": None, "folder": Path()}
    subject = chosen_subject(run, model="", fraction=None, party=party, seed=seed, data_dir=data_dir, **nowhere)
    with progress_bar("asking") as progress:
        curve = question_curve(subject, chosen, counts, records, auxiliary, seed, on_step=progress)
    if picture is not None:
        save_question_chart(curve, picture, force=force)
    return curve


def show_curve(curve: QuestionCurve, as_json: bool) -> None:
    """As a table with bars, or as JSON."""
    print_json(curve.as_dict()) if as_json else _print(curve)


def _print(curve: QuestionCurve) -> None:
    from privee.audit.results import short_number

    out.print(f"{curve.subject}; {curve.defense}", markup=False)
    out.print("Left of a guess's error after so many questions about one record, with own columns of one's choice:")
    table = Table("questions", "", "left", "column told best", "left of it", box=None)
    for count, left, worst in zip(curve.questions, curve.left, curve.worst, strict=True):
        bar = Bar(1.0, 0.0, left, width=30, color="red" if left < 0.5 else "green")
        table.add_row(f"{count:,}", bar, share(left), f"{worst.name} ({worst.party})", share(worst.left))
    out.print(table)
    out.print(
        f"{curve.records:,} records, {curve.auxiliary_rows:,} rows known in full, {curve.seconds:.0f} s; "
        f"a guess without any answer has error {short_number(curve.guess_error)} ({curve.guess})"
    )


def share(left: float) -> str:
    """A share in percent; what is almost nothing is not shown as nothing.

    Example:
        >>> [share(left) for left in (1.0, 0.123, 0.0004, 0.0)]
        ['100.0%', '12.3%', '< 0.1%', '0.0%']
    """
    return "< 0.1%" if 0 < left < 0.001 else f"{left:.1%}"
