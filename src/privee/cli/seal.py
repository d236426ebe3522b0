"""`privee seal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from privee.cli.model_options import given_files, show_outcome
from privee.cli.output import InterruptedByUserError, note, progress_bar
from privee.cli.seal_options import SensitiveOption
from privee.cli.training_options import Threads
from privee.given import existing_run


def seal(
    run: Annotated[Path, typer.Argument(help="A finished run whose passive parties are not sealed yet.")],
    sealed: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the sealed run. [RUN-sealed]")] = None,
    codes: Annotated[int | None, typer.Option(help="How many codes each party has, 2 to 256. [default: 8]")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Draw codes by randomised response with this epsilon.")] = None,
    learn: Annotated[
        Literal["joint", "own"], typer.Option(help="own: codes from the party's columns alone, no gradient comes in.")
    ] = "joint",
    signs: Annotated[
        int | None, typer.Option(help="HashVFL's form in place of --codes: so many signs, 1 to 8.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Seal this passive party alone, repeatable.")] = None,
    sensitive: SensitiveOption = None,
    party: Annotated[
        list[str] | None, typer.Option(help="The tables it was trained on: NAME=FILE, repeatable.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="At most; by default twice those of the run.")] = None,
    threads: Threads = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Turn a finished run into a sealed one: each passive party sends one of some codes per record, ever.

    Example: `privee seal runs/digits --codes 8 --out runs/digits-sealed`

    The finished model teaches the sealed one. Of no record more is sent than training the model has sent already.
    """
    from privee.vfl.seal.settings import seal_from_options

    existing_run(run)
    wanted = seal_from_options(codes, epsilon, learn, signs)

    from privee.vfl.seal.sealing import seal_run

    target = sealed or run.with_name(f"{run.name}-sealed")
    try:
        with progress_bar("aligning") as aligning, progress_bar("sealing") as bar:
            outcome = seal_run(
                run,
                target,
                wanted,
                only=only or (),
                sensitive=sensitive or (),
                files=given_files(party) or None,
                epochs=epochs,
                data_dir=data_dir,
                threads=threads,
                on_step=lambda epoch, of, step, steps: bar((epoch - 1) * steps + step, of * steps),
                aligning=aligning,
                tell=note,
            )
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on after the last finished epoch") from None
    show_outcome(outcome, as_json)
