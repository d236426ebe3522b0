"""`privee audit`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from privee.cli.model_options import MODEL_NAMES, By, asked_by, check_source, chosen_subjects, question_counts
from privee.cli.names import ATTACK, DATASET, DEFENSE, MODEL, check_attack, check_defense
from privee.cli.output import ROOMY, InterruptedByUserError, folded, out, print_json, progress_bar
from privee.data.partition import How

if TYPE_CHECKING:
    from privee.audit import Audit, Card
    from privee.audit.exposure import ColumnExposure
    from privee.audit.results import SubjectInfo

Many = list[str] | None


def audit(
    run: Annotated[Path | None, typer.Argument(help="A finished run folder.")] = None,
    dataset: Annotated[
        str | None, typer.Option(autocompletion=DATASET, help="Train models on this dataset and attack them.")
    ] = None,
    entry: Annotated[str | None, typer.Option(help="Your own model: module:function returning its parts.")] = None,
    party: Annotated[Many, typer.Option(help="New tables for a run on tables: NAME=FILE, repeatable.")] = None,
    model: Annotated[
        Many, typer.Option(autocompletion=MODEL, help=f"With --dataset: {MODEL_NAMES}, repeatable.")
    ] = None,
    fraction: Annotated[
        list[float] | None, typer.Option(help="Share of the columns the attacker holds, repeatable.")
    ] = None,
    by: Annotated[
        By,
        typer.Option(help="Who attacks: the active party, the passive ones, or the active one with the coordinator."),
    ] = "active",
    split: Annotated[How | None, typer.Option(help="With --dataset: how columns are dealt out.")] = None,
    defense: Annotated[
        Many, typer.Option("--defense", "-d", autocompletion=DEFENSE, help="Repeatable; one of each kind by default.")
    ] = None,
    attack: Annotated[
        Many, typer.Option("--attack", "-a", autocompletion=ATTACK, help="Repeatable; one of each kind by default.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions, for intervals.")] = 3,
    sensitive: Annotated[
        Many, typer.Option(help="A private column to look at first, COLUMN or PARTY:COLUMN, repeatable.")
    ] = None,
    records: Annotated[
        int | None, typer.Option(min=1, help="Records attacked at a time; 200, and 10,000 column by column.")
    ] = None,
    auxiliary: Annotated[
        int | None, typer.Option(min=0, help="Rows the attacker knows in full; 500, and 10,000 column by column.")
    ] = None,
    queries: Annotated[int, typer.Option(min=1, help="Releases per record.")] = 1,
    questions: Annotated[
        str | None,
        typer.Option(
            help="How many times an attacker asks about a record with own columns of its choice, such as 1,2,5,10; "
            "0 for not at all. [default: 1,5, unless attacks are named]"
        ),
    ] = None,
    pictures: Annotated[bool, typer.Option(help="Show reconstructions of a few records in the report.")] = True,
    seed: Annotated[int, typer.Option(help="For training and for dealing out columns.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many attacks at once; all cores by default.")] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="ray: the cluster in RAY_ADDRESS.")] = "local",
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    folder: Annotated[Path, typer.Option("--out", "-o", help="Folder for report and tables.")] = Path("audit-output"),
    compare: Annotated[
        Path | None, typer.Option(help="An earlier audit to compare with; the one in the output folder by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Scorecards as JSON.")] = False,
) -> None:
    """Attack a model under every defense, and write a report on what each one gives away.

    Example: `privee audit --dataset digits --model logistic --model mlp --out audit-output`

    An interrupted audit goes on where it stopped when the same command is given again.
    """
    for spec in defense or ():
        check_defense(spec)
    for spec in attack or ():
        check_attack(spec)
    check_source(run, dataset=dataset, entry=entry, party=party, models=model or ())

    from privee.audit import Grid, run_grid, save_audit
    from privee.audit.grid import default_defenses
    from privee.audit.subject import mark_each

    grid = Grid(
        defenses=tuple(defense or default_defenses()),
        attacks=tuple(attack or ()),
        seeds=tuple(range(seeds)),
        records=records,
        auxiliary_rows=auxiliary,
        queries=queries,
        naive_once=True,
        questions=None if questions is None else question_counts(questions, none=True),
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
            against_each=by != "passive",
        )
        subjects = [asked_by(subject, by) for subject in subjects]
        subjects = mark_each(subjects, sensitive or ())
        with progress_bar("attacking") as progress:
            found = run_grid(subjects, grid, jobs=jobs, engine=engine, folder=folder, progress=progress)
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on where it stopped") from None
    files = save_audit(found, folder, compare=compare)
    if as_json:
        print_json(
            {"files": {k: str(v) for k, v in files.items()}, "about": found.about, "cards": found.as_dict()["cards"]}
        )
        return
    print_audit(found)
    out.print(f"Report: {files['report']}", markup=False)


def print_audit(found: Audit) -> None:
    """One table per subject with the worst column of each defense, then what its columns mean."""
    for subject in found.subjects:
        known = subject.adversary_fraction
        out.print(f"\n{subject.name}", style="bold", markup=False)
        out.print(f"{known:.1%} known to the attacker, {1 - known:.1%} unknown; ", end="", markup=False)
        out.print(f"{subject.column_records or subject.records:,} records, {subject.classes} classes", markup=False)
        out.print(_table(found, subject.name))
        _print_sealed(found.cards, subject)
        _print_embedding_defenses(subject)
        _print_columns(found.cards, subject)
        _print_worth(subject)
    out.print(
        "Grade: of the column that is told best, by an attacker who knows the defense and asks once, "
        f"honestly{_chosen(found)}. "
        "Left: of what a guess without the release leaves open about that column, the share that the attacker still "
        "misses; mean: the same over all columns, in square errors. A second value with a figure: it may be told with "
        "an AUC above 0.9, so the grade is weak at best. What is told by chance is not counted (5 % for all "
        "columns, questions and attacks together). Order: of records by score, Kendall's tau with the scores' own. "
        "All of it is in the report."
    )


def _table(found: Audit, subject: str) -> Table:
    cards = [card for card in found.cards if card.subject == subject]
    asked = next((card.most_asked for card in cards if card.most_asked is not None), None)
    labelled = any(card.utility is not None and card.utility.auc is not None for card in cards)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("defense", overflow="fold")
    table.add_column("grade" if asked is None else "once,\nhonest")
    if asked is not None:
        table.add_column(f"{asked.questions} times,\nchosen" if asked.questions > 1 else "once,\nchosen")
    sealed = any(card.without_end is not None for card in cards)
    if sealed:
        table.add_column("without\nend")
    table.add_column("worst column", overflow="fold")
    moved = out.width >= ROOMY  # elsewhere it is in the report alone: what is read first is the column
    for heading in ("left", "mean", "AUC" if labelled else "class\nkept", "order", *(["L1\nmoved"] if moved else [])):
        table.add_column(heading, justify="right", no_wrap=True)
    for card in cards:
        worst = card.worst
        auc = None if card.utility is None else card.utility.auc
        table.add_row(
            folded(card.defense, 20),
            card.grade,
            *([] if asked is None else ["-" if card.most_asked is None else card.most_asked.grade]),
            *(["-" if card.without_end is None else card.without_end.grade] if sealed else []),
            "-"
            if worst is None
            else folded(column_words(worst), 22, "= ")
            if worst.told or worst.capped_auc
            else "nothing told",
            f"{worst.remaining:.0%}" if worst is not None and worst.told else "-",
            f"{card.guess_normalised:.0%}",
            "-" if labelled and auc is None else f"{auc:.3f}" if labelled else f"{card.label_kept:.0%}",
            "-" if card.order_between is None else f"{card.order_between:.2f}",
            *([f"{card.mean_l1_moved:.2f}"] if moved else []),
        )
    return table


def _chosen(found: Audit) -> str:
    """How often attackers asked who chose what they asked."""
    asked = {again.questions for card in found.cards for again in card.asked_again}
    if not asked:
        return ""
    often = "once" if max(asked) == 1 else f"{max(asked)} times"
    return f"; beside it, by one who asks {often} with own columns of its choice (chosen-columns)"


def column_words(exposure: ColumnExposure) -> str:
    """A column with what of it is told best, for tables."""
    asked = "" if exposure.by == "error" else f"={exposure.by}" if exposure.kind == "category" else f" {exposure.by}"
    told = "" if exposure.auc is None or exposure.by == "error" else f", AUC {exposure.auc:.2f}"
    capped = exposure.capped_auc is not None and exposure.capped_by != exposure.by
    also = f"; {exposure.capped_by} {exposure.capped_auc:.2f}" if capped else ""
    return f"{exposure.name}{asked} ({exposure.party}){told}{also}"


def _print_sealed(cards: Sequence[Card], subject: SubjectInfo) -> None:
    """What sealed parties can ever give away, and what that is worth to an attacker."""
    from privee.audit.sealed_words import not_covered, proven

    if not subject.sealed:
        return
    ever = next((card.without_end for card in cards if card.subject == subject.name and card.without_end), None)
    out.print(f"Sealed: {proven(subject.sealed)}", markup=False)
    if ever is not None:
        out.print(f"Without end: {ever.verdict}", markup=False)
    out.print(f"Not covered: {'; '.join(not_covered(subject.sealed))}.", markup=False)


def _print_embedding_defenses(subject: SubjectInfo) -> None:
    """What parties do to the embeddings that they send."""
    if subject.embedding_defenses:
        named = "; ".join(f"{party}: {spec}" for party, spec in subject.embedding_defenses.items())
        out.print(f"Embedding defenses: {named}. Part of the model, known to the attacker; no bound.", markup=False)


def _print_columns(cards: Sequence[Card], subject: SubjectInfo) -> None:
    """Sensitive columns under every defense, where any were marked."""
    for column in (column for column in subject.columns if column.sensitive):
        out.print(f"{column.name} ({column.party}), marked sensitive:", markup=False)
        for card in cards:
            mine = [e for e in card.columns if (e.name, e.party) == (column.name, column.party)]
            if card.subject == subject.name and mine:
                told = column_words(mine[0]) if mine[0].told else "nothing told beyond chance"
                out.print(f"  {card.defense}: {mine[0].grade}, {told}", markup=False)


def _print_worth(subject: SubjectInfo) -> None:
    """What the model adds to what the active party has."""
    if subject.utility is None or subject.utility.auc is None or subject.majority is None:
        return
    own = subject.own_columns
    alone = "" if own is None or own.auc is None else f"; {subject.active}'s own columns alone {own.auc:.3f}"
    out.print(
        f"AUC of the scores {subject.utility.auc:.3f}{alone}; accuracy {subject.utility.accuracy:.1%}, "
        f"always the most frequent class {subject.majority.accuracy:.1%}",
        markup=False,
    )
