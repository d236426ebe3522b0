"""`privee predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from privee.atomic import refuse_existing
from privee.cli.model_options import given_files
from privee.cli.names import DEFENSE
from privee.cli.output import note, out, print_json, progress_bar, warn_of_formulas
from privee.cli.utility_table import print_utilities
from privee.data.files.formats import SCORES, format_of
from privee.defenses import defense as make_defense
from privee.errors import PriveeError
from privee.given import existing_run
from privee.randomness import seeded


def predict(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    out_file: Annotated[Path, typer.Option("--out", "-o", help="Where the releases go: .csv, .parquet or .npy.")],
    defense: Annotated[
        str,
        typer.Option("--defense", "-d", autocompletion=DEFENSE, help="What is released; `none` for the raw scores."),
    ],
    party: Annotated[list[str] | None, typer.Option(help="New tables of the parties: NAME=FILE, repeatable.")] = None,
    codes: Annotated[
        list[str] | None,
        typer.Option(help="Codes that a sealed party handed over, in place of its table: NAME=FILE, repeatable."),
    ] = None,
    rows: Annotated[
        Literal["test", "train", "all"] | None,
        typer.Option(
            help="Records to predict: `train`, which the model was trained on, `test`, all others, or `all`. "
            "[default: test of a dataset, all of tables]"
        ),
    ] = None,
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
    chosen, files, handed_over = make_defense(defense), given_files(party), given_files(codes, "--codes")
    if both := files.keys() & handed_over.keys():
        raise PriveeError(f"party {min(both)} is given with --party and with --codes; one of the two")
    existing_run(run)
    format_of(out_file, SCORES)
    refuse_existing(out_file, force)

    from privee.vfl.prediction import predict as work

    with progress_bar("aligning") as aligning, progress_bar("predicting") as progress:
        summary = work(
            run,
            out_file,
            chosen,
            files=files or None,
            codes=handed_over,
            which=rows,
            draws=None if seed is None else seeded(seed),
            data_dir=data_dir,
            force=force,
            spreadsheet=spreadsheet,
            progress=progress,
            aligning=aligning,
            tell=note,
        )
    if not spreadsheet:
        warn_of_formulas(summary["formulas"])
    if as_json:
        print_json(summary)
        return
    out.print(f"{out_file}: {summary['rows']:,} rows, {summary['classes']} classes, {chosen.spec}", markup=False)
    if left_out := summary["without_code"]:
        out.print(f"{left_out:,} record{'s' if left_out > 1 else ''} without a code left out")
    kept = f"predicted class kept {summary['label_kept']:.1%}, order within records {summary['ranking_kept']:.1%}"
    out.print(f"{kept}, mean L1 moved {summary['mean_l1_moved']:.3g}")
    out.print(f"order between records {summary['order_between']:.2f} (Kendall's tau: 1 is all of it, 0 none)")
    _show_utility(summary["utility"])


def _show_utility(found: dict[str, Any] | None) -> None:
    """Scores and release side by side, and on what records."""
    if found is None:
        out.print("utility is not measured: none of these records has a label that the model knows")
        return
    print_utilities({name: found[name] for name in ("scores", "release")}, found["positive_class"])
    records = {
        "new": "records that the model was not trained on",
        "training": "TRAINING records: new ones will do worse",
        "unknown": "records; the run does not tell whether it was trained on them",
    }[found["records"]]
    left_out = {"training records": found["trained_on_left_out"], "without a known label": found["without_label"]}
    words = "".join(f", {count:,} {what} left out" for what, count in left_out.items() if count)
    out.print(f"measured on {found['scores']['rows']:,} {records}{words}")
