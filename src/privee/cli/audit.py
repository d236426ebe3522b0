"""`privee audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from privee.cli.model_options import MODEL_NAMES, chosen_subjects
from privee.cli.output import InterruptedByUserError, out, print_json, progress_bar
from privee.data.partition import How

if TYPE_CHECKING:
    from privee.audit import Audit

Many = list[str] | None


def audit(
    run: Annotated[Path | None, typer.Argument(help="A finished run folder.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Train models on this dataset and attack them.")] = None,
    entry: Annotated[str | None, typer.Option(help="Your own model: module:function returning its parts.")] = None,
    party: Annotated[Many, typer.Option(help="New tables for a run on tables: NAME=FILE, repeatable.")] = None,
    model: Annotated[Many, typer.Option(help=f"With --dataset: {MODEL_NAMES}, repeatable.")] = None,
    fraction: Annotated[
        list[float] | None, typer.Option(help="Share of the columns the attacker holds, repeatable.")
    ] = None,
    split: Annotated[How | None, typer.Option(help="With --dataset: how columns are dealt out.")] = None,
    defense: Annotated[Many, typer.Option("--defense", "-d", help="Repeatable; one of each kind by default.")] = None,
    attack: Annotated[Many, typer.Option("--attack", "-a", help="Repeatable; one of each kind by default.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions, for intervals.")] = 3,
    records: Annotated[int, typer.Option(min=1, help="Records attacked at a time.")] = 200,
    auxiliary: Annotated[int, typer.Option(min=0, help="Rows the attacker knows in full.")] = 500,
    queries: Annotated[int, typer.Option(min=1, help="Releases per record.")] = 1,
    pictures: Annotated[bool, typer.Option(help="Show reconstructions of a few records in the report.")] = True,
    seed: Annotated[int, typer.Option(help="For training and for dealing out columns.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many attacks at once; all cores by default.")] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="ray: the cluster in RAY_ADDRESS.")] = "local",
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    folder: Annotated[Path, typer.Option("--out", "-o", help="Folder for report and tables.")] = Path("audit-output"),
    as_json: Annotated[bool, typer.Option("--json", help="Scorecards as JSON.")] = False,
) -> None:
    """Attack a model under every defense, and write a report on what each one gives away.

    Example: `privee audit --dataset digits --model logistic --model mlp --out audit-output`

    An interrupted audit goes on where it stopped when the same command is given again.
    """
    from privee.audit import Grid, run_grid, save_audit
    from privee.audit.grid import default_defenses

    grid = Grid(
        defenses=tuple(defense or default_defenses()),
        attacks=tuple(attack or ()),
        seeds=tuple(range(seeds)),
        records=records,
        auxiliary_rows=auxiliary,
        queries=queries,
        pictures=pictures,
    )
    try:
        subjects = chosen_subjects(
            run,
            dataset=dataset,
            entry=entry,
            party=party,
            models=model or ["logistic"],
            fractions=fraction or [],
            split=split,
            seed=seed,
            data_dir=data_dir,
            folder=folder,
        )
        with progress_bar("attacking") as progress:
            found = run_grid(subjects, grid, jobs=jobs, engine=engine, folder=folder, progress=progress)
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on where it stopped") from None
    files = save_audit(found, folder)
    if as_json:
        print_json(
            {"files": {k: str(v) for k, v in files.items()}, "about": found.about, "cards": found.as_dict()["cards"]}
        )
        return
    print_audit(found)
    out.print(f"Report: {files['report']}", markup=False)


def print_audit(found: Audit) -> None:
    """One table per subject, then what its columns mean."""
    for subject in found.subjects:
        known = subject.adversary_fraction
        out.print(f"\n{subject.name}", style="bold", markup=False)
        out.print(f"{known:.1%} known to the attacker, {1 - known:.1%} unknown; ", end="", markup=False)
        out.print(f"{subject.records} records, {subject.classes} classes", markup=False)
        out.print(_table(found, subject.name))
    out.print(
        "Error: mean square over records and unknown columns, in units of each column's range; mean over seeds of the "
        "best attack. Naive attackers ignore the defense, adaptive ones know it. Of guess: smallest error over that of "
        "the best guess without the release. Attainable: share of what an order-preserving defense could protect. "
        "Intervals and all attacks are in the report."
    )


def _table(found: Audit, subject: str) -> Table:
    from privee.audit.results import short_number

    cards = [card for card in found.cards if card.subject == subject]
    guess = cards[0].guess
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        caption=f"without any release: {guess.attack} {short_number(guess.error.mean)}, "
        f"column means {short_number(cards[0].mean_guess.mean)}",
        caption_justify="left",
    )
    table.add_column("defense", overflow="fold", max_width=24)
    for heading in ("error,\nnaive", "error,\nadaptive", "of\nguess", "attain-\nable", "L1\nmoved"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict")
    for card in cards:
        table.add_row(
            card.defense,
            short_number(card.naive.error.mean) if card.naive else "-",
            short_number(card.adaptive.error.mean) if card.adaptive else "-",
            f"{card.guess_normalised:.0%}",
            "-" if card.attainable_protection is None else f"{card.attainable_protection:.0%}",
            f"{card.mean_l1_moved:.2f}",
            card.grade,
        )
    return table
