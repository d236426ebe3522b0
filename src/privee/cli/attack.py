"""`privee attack`."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from privee.atomic import refuse_existing
from privee.cli.model_options import MODEL_NAMES, By, asked_by, check_source, chosen_subject
from privee.cli.names import ATTACK, DATASET, DEFENSE, MODEL, check_attack, check_defense
from privee.cli.output import InterruptedByUserError, out, print_json, progress_bar
from privee.data.partition import How
from privee.errors import PriveeError
from privee.given import existing_file

CHECKPOINTS = Path(".privee-attack")


def attack(
    run: Annotated[Path | None, typer.Argument(help="A finished run folder.")] = None,
    attack: Annotated[
        str, typer.Option("--attack", "-a", autocompletion=ATTACK, help="Which attack, with its settings.")
    ] = "prior-informed",
    defense: Annotated[
        str, typer.Option("--defense", "-d", autocompletion=DEFENSE, help="What protects the release.")
    ] = "none",
    naive: Annotated[bool, typer.Option("--naive", help="An attacker who ignores the defense.")] = False,
    releases: Annotated[
        list[Path] | None, typer.Option(help="Attack these release files of the test records; one per query.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(autocompletion=DATASET, help="Train a model on this dataset and attack it.")
    ] = None,
    model: Annotated[str, typer.Option(autocompletion=MODEL, help=f"With --dataset: {MODEL_NAMES}.")] = "logistic",
    entry: Annotated[str | None, typer.Option(help="Your own model: module:function returning its parts.")] = None,
    party: Annotated[list[str] | None, typer.Option(help="New tables for a run on tables: NAME=FILE.")] = None,
    fraction: Annotated[float | None, typer.Option(help="Share of the columns the attacker holds.")] = None,
    by: Annotated[
        By,
        typer.Option(help="Who attacks: the active party, the passive ones, or the active one with the coordinator."),
    ] = "active",
    split: Annotated[How | None, typer.Option(help="With --dataset: how columns are dealt out.")] = None,
    records: Annotated[int, typer.Option(min=1, help="Records attacked.")] = 200,
    auxiliary: Annotated[int, typer.Option(min=0, help="Rows the attacker knows in full.")] = 500,
    queries: Annotated[int, typer.Option(min=1, help="Releases per record.")] = 1,
    seed: Annotated[int, typer.Option(help="For records, releases and the attack's own chances.")] = 0,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the reconstructed columns (scaled to [0, 1]) as .npy.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Run one attack against one defense and say how close it comes.

    Example: `privee attack runs/digits --attack prior-informed --defense privee-u:rho=0.1`

    A long attack that is interrupted goes on where it stopped when the same command is given again.
    """
    check_defense(defense)
    check_attack(attack)
    if releases and dataset:
        raise PriveeError("release files belong to a run; give its folder")
    check_source(run, dataset=dataset, entry=entry, party=party, models=[model])
    for file in releases or ():
        existing_file(file)
    if out_file is not None:
        refuse_existing(out_file, force)

    from privee.attacks import attack as make_attack
    from privee.attacks.watch import Watch
    from privee.audit.api import attack_once, save_reconstruction

    make_attack(attack)  # a setting that is wrong is said before a model is trained
    subject = chosen_subject(
        run,
        dataset=dataset,
        entry=entry,
        party=party,
        model=model,
        fraction=fraction,
        split=split,
        seed=seed,
        data_dir=data_dir,
        folder=CHECKPOINTS,
    )
    subject = asked_by(subject, by)
    try:
        with progress_bar(attack) as progress:
            finding, guesses, unknown = attack_once(
                subject,
                attack,
                defense,
                adaptive=not naive,
                seed=seed,
                records=records,
                auxiliary_rows=auxiliary,
                queries=queries,
                released=releases or (),
                watch_for=lambda key: Watch(progress, CHECKPOINTS / key),
            )
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on from the last checkpoint") from None
    with contextlib.suppress(OSError):  # checkpoints of other attacks stay
        CHECKPOINTS.rmdir()
    if out_file is not None:
        save_reconstruction(out_file, unknown, force=force)
    if as_json:
        print_json({"finding": dataclasses.asdict(finding), "guesses": [dataclasses.asdict(g) for g in guesses]})
    else:
        _print(subject.name, finding, guesses)


def _print(subject: str, finding: Any, guesses: Any) -> None:
    from privee.audit.results import short_number

    out.print(f"{subject}; {finding.attack}, {finding.attacker}, against {finding.defense}", markup=False)
    found = "none" if finding.feature_mse is None else short_number(finding.feature_mse)
    out.print(f"feature MSE          {found}  {finding.reason}")
    for guess in guesses:
        out.print(f"  {guess.attack + ' ':<19}{short_number(guess.feature_mse)}")
    if finding.guess_normalised is not None:  # None where a guess is exact already, or nothing was found
        out.print(f"guess-normalised     {finding.guess_normalised:.3f}  (1: the release gave nothing away)")
    if finding.confidence_residual is not None:
        out.print(f"confidence residual  {short_number(finding.confidence_residual)}")
    out.print(f"seconds              {finding.seconds:.1f}")
