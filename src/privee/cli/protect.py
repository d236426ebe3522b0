"""`privee protect`."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privee.cli.names import DEFENSE
from privee.cli.output import out, print_json, progress_bar, warn_of_formulas
from privee.defenses import defense as make_defense
from privee.errors import SettingError
from privee.given import existing_file
from privee.progress import watched
from privee.randomness import seeded

if TYPE_CHECKING:
    from privee.data.score_files.protect import Releases, Summary
    from privee.defenses import Defense


def protect(
    file: Annotated[Path, typer.Argument(help="Scores: .csv, .tsv, .parquet or .npy, one row per record.")],
    out_file: Annotated[Path, typer.Option("--out", "-o", help="Where the releases go, same formats.")],
    defense: Annotated[
        str, typer.Option("--defense", "-d", autocompletion=DEFENSE, help="Name and settings; see `privee defenses`.")
    ],
    id_columns: Annotated[
        list[str] | None,
        typer.Option("--id", help="Column to keep as it is; repeatable, patterns allowed. `id` and `*_id` always are."),
    ] = None,
    scores: Annotated[
        list[str] | None, typer.Option(help="Score columns, if not all others; repeatable, patterns allowed.")
    ] = None,
    delimiter: Annotated[str, typer.Option(help="CSV delimiter, if not a comma.")] = "",
    sum_check: Annotated[bool, typer.Option(help="Refuse rows that do not sum to 1 (within 0.001).")] = True,
    seed: Annotated[int | None, typer.Option(help="Reproducible draws, for experiments only.")] = None,
    spreadsheet: Annotated[
        bool, typer.Option(help="In CSV, put a quote before text that a spreadsheet would take for a formula.")
    ] = False,
    ray: Annotated[bool, typer.Option("--ray", help="On the Ray cluster in RAY_ADDRESS, or one started here.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Summary as JSON.")] = False,
) -> None:
    """Replace the scores in a file by releases. Files larger than memory are fine.

    Example: `privee protect scores.csv --defense privee-u:rho=0.1 --out releases.csv`
    """
    chosen = make_defense(defense)
    existing_file(file)
    if ray and seed is not None:
        raise SettingError("--seed is for draws in one process; leave it out, or --ray")

    from privee.data.score_files.protect import protect_file

    with contextlib.ExitStack() as stack, progress_bar(f"protecting {file.name}") as progress, watched(progress):
        summary = protect_file(
            file,
            out_file,
            chosen,
            keep=id_columns or (),
            scores=scores or (),
            delimiter=delimiter,
            draws=None if seed is None else seeded(seed),
            check_sum=sum_check,
            force=force,
            spreadsheet=spreadsheet,
            progress=progress,
            releases=stack.enter_context(_on_ray(chosen, check_sum=sum_check)) if ray else None,
        )
    if not spreadsheet:
        warn_of_formulas(summary.formulas)
    if as_json:
        print_json({"defense": chosen.settings(), "out": str(out_file), "seed": seed} | summary.as_dict())
    else:
        _tell(summary, chosen.spec, out_file)


def _on_ray(defense: Defense, *, check_sum: bool) -> AbstractContextManager[Releases]:
    from privee.adapters._ray_blocks import releases_on_ray

    return releases_on_ray(defense, check_sum=check_sum)


def _tell(summary: Summary, spec: str, out_file: Path) -> None:
    ranking, label = (n / summary.rows for n in (summary.rows_with_ranking_kept, summary.rows_with_label_kept))
    moved = summary.mean_l1_moved
    out.print(f"{out_file}: {summary.rows:,} rows, {summary.classes} classes, {spec}", markup=False)
    if summary.read_as_two_classes:
        out.print("one score column p: read as two classes, 1 - p and p; the release has both, in two columns")
    out.print(f"ranking kept {ranking:.1%}, predicted class kept {label:.1%}, mean L1 moved {moved:.3g}")
