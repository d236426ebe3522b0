"""What commands on the parties' own tables share: their options, and how the tables were read and matched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer
from rich.console import Console

from privee.cli.model_options import given_files, id_columns
from privee.cli.output import note, out, print_json, progress_bar
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.data.tables.choices import TableChoices
    from privee.vfl.joint_data import JointData
    from privee.vfl.tables_report import ColumnReading, PartyReading, TablesReport

Delimiter = Annotated[
    list[str] | None, typer.Option(help="With --party: CSV delimiter, or PARTY:DELIMITER, if not found by itself.")
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="With --party: numbers that are codes, COLUMN or PARTY:COLUMN, repeatable.")
]
Drop = Annotated[list[str] | None, typer.Option(help="With --party: leave out COLUMN, or PARTY:COLUMN, repeatable.")]
MissingLabels = Annotated[
    Literal["refuse", "drop"], typer.Option(help="With --party: records without a label: `drop` trains without them.")
]
LabelIs = Annotated[
    Literal["class"] | None, typer.Option(help="With --party: every different label is a class, however many.")
]
LabelThreshold = Annotated[
    float | None, typer.Option(help="With --party: two classes, numbers below this and all others.")
]
MOST_COLUMNS = 40
"""Shown one by one; of more, only those that are left out."""


def table_choices(
    delimiter: Sequence[str] | None,
    categorical: Sequence[str] | None,
    drop: Sequence[str] | None,
    missing_labels: Literal["refuse", "drop"],
    label_is: Literal["class"] | None,
    label_threshold: float | None,
) -> TableChoices:
    """What was said of the tables."""
    from privee.data.tables.choices import TableChoices
    from privee.data.tables.label_choices import LabelChoices

    label = LabelChoices(missing=missing_labels, is_class=label_is == "class", threshold=label_threshold)
    return TableChoices(
        delimiter=tuple(delimiter or ()), categorical=tuple(categorical or ()), drop=tuple(drop or ()), label=label
    )


class Tables(NamedTuple):
    """The parties' own tables, and who holds which column."""

    files: dict[str, Path]
    active: str
    id_columns: dict[str, str]
    label: str


def given_tables(
    party: Sequence[str] | None, *, active: str | None, ids: Sequence[str] | None, label: str | None
) -> Tables:
    """What the options say of the parties' own tables, which must be here."""
    files = given_files(party)
    if active is None or active not in files:
        raise PriveeError(f"which party holds the labels? Give --active, one of {', '.join(files)}")
    if label is None:
        raise PriveeError(f"which column of {active} holds the labels? Give --label COLUMN")
    return Tables(files, active, id_columns(ids or (), files), label)


def table_data(
    tables: Tables, *, test_share: float, seed: int, choices: TableChoices | None = None, run: Path | None = None
) -> JointData:
    """The parties' own tables, aligned and encoded; the alignment is kept with the run."""
    from privee.vfl.own_tables import from_tables
    from privee.vfl.runs import RunFolder, refuse_other

    if run is not None:
        refuse_other(run)  # before the long work, and before anything is put there
    folders = None if run is None else {name: RunFolder(run).part(name) for name in tables.files}
    with progress_bar("aligning") as progress:
        return from_tables(
            **tables._asdict(),
            test_share=test_share,
            seed=seed,
            choices=choices,
            folders=folders,
            progress=progress,
            tell=note,
        )


def show_report(report: TablesReport | None, as_json: bool = False, where: Console = out) -> None:
    """How the tables were read and matched, before anything is learned from them."""
    if report is None:
        return
    if as_json:
        print_json(report.as_dict())
        return
    for party in report.parties:
        _show_party(party, where)
    how = "aligned now" if report.alignment == "made" else "alignment of an earlier command"
    _line(where, f"{report.matched:,} records are held by all parties ({how})")
    counts = ", ".join(f"{name} {count:,}" for name, count in report.classes.items())
    without = f"; {report.unlabelled:,} without a label are left out" if report.unlabelled else ""
    _line(where, f"labels: {counts}{without}")
    _line(where, f"{report.train:,} records for training, {report.test:,} for testing")


def _show_party(party: PartyReading, where: Console) -> None:
    _line(where, f"{party.file}: {', '.join(party.found)}")
    ids = f"{party.rows:,} rows, each with an id of its own, {party.matched:,} of them matched"
    _line(where, f"  {party.party}: {ids}, {sum(one.features for one in party.columns):,} features")
    shown = [one for one in party.columns if one.read_as == "left out" or len(party.columns) <= MOST_COLUMNS]
    width = max((len(one.name) for one in shown), default=0)
    for one in shown:
        _line(where, f"  {one.name:<{width}}  {_words(one)}")
    if len(shown) < len(party.columns):
        _line(where, f"  and {len(party.columns) - len(shown):,} more columns; --json lists them all")


def _words(one: ColumnReading) -> str:
    if one.read_as == "left out":
        return f"left out: {one.why}"
    values = f", {one.values:,} values" if one.read_as == "category" else ""
    return one.read_as + values + (f", {one.missing:,} missing" if one.missing else "")


def _line(where: Console, text: str) -> None:
    where.print(text, markup=False, soft_wrap=True)
