"""`privee predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from privee.cli.joint_data import named_files
from privee.cli.output import out, print_json, progress_bar, warn_of_formulas
from privee.defenses import defense as make_defense
from privee.randomness import seeded


def predict(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    out_file: Annotated[Path, typer.Option("--out", "-o", help="Where the releases go: .csv, .parquet or .npy.")],
    defense: Annotated[str, typer.Option("--defense", "-d", help="What is released; `none` for the raw scores.")],
    party: Annotated[list[str] | None, typer.Option(help="New tables of the parties: NAME=FILE, repeatable.")] = None,
    rows: Annotated[Literal["test", "train", "all"], typer.Option(help="Which rows of the run's dataset.")] = "test",
    seed: Annotated[int | None, typer.Option(help="Reproducible draws, for experiments only.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    spreadsheet: Annotated[
        bool, typer.Option(help="In CSV, put a quote before text that a spreadsheet would take for a formula.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Summary as JSON.")] = False,
) -> None:
    """Predict with a run and write the releases, one row per record.

    Example: `privee predict runs/digits --defense privee-u:rho=0.1 --out releases.csv`
    """
    from privee.vfl.experiment import predict as work

    chosen = make_defense(defense)
    with progress_bar("predicting") as progress:
        summary = work(
            run,
            out_file,
            chosen,
            files=named_files(party) or None,
            which=rows,
            draws=None if seed is None else seeded(seed),
            data_dir=data_dir,
            force=force,
            spreadsheet=spreadsheet,
            progress=progress,
        )
    if not spreadsheet:
        warn_of_formulas(summary["formulas"])
    if as_json:
        print_json(summary)
        return
    out.print(f"{out_file}: {summary['rows']:,} rows, {summary['classes']} classes, {chosen.spec}", markup=False)
    kept = f"ranking kept {summary['ranking_kept']:.1%}, predicted class kept {summary['label_kept']:.1%}"
    out.print(f"{kept}, mean L1 moved {summary['mean_l1_moved']:.3g}")
