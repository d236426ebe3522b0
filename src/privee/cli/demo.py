"""`privee demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privee.cli.audit import print_audit
from privee.cli.output import InterruptedByUserError, out, print_json, progress_bar
from privee.extras import missing


def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Folder for report and tables.")] = Path("demo-output"),
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions, for intervals.")] = 3,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many attacks at once; all cores by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Scorecards as JSON.")] = False,
) -> None:
    """Train two joint models on bundled digits, attack five releases of each, seal one, and tell what they give away.

    Example: `privee demo --out demo-output`
    """
    try:
        from privee.audit import save_audit
        from privee.demo import acts, run_demo
    except ModuleNotFoundError as error:
        raise missing("the demo", error.name, "demo") from None
    try:
        with progress_bar("training") as bar:
            found = run_demo(folder, seeds=seeds, jobs=jobs, progress=lambda what, done, of: bar(done, of, what))
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on where it stopped") from None
    files = save_audit(found, folder)
    if as_json:
        print_json({"files": {k: str(v) for k, v in files.items()}, "cards": found.as_dict()["cards"]})
        return
    print_audit(found)
    out.print()
    for number, act in enumerate(acts(found), start=1):
        out.print(f"{number}. {act}", markup=False)
    out.print(f"\nReport with pictures: {files['report']}", markup=False)
