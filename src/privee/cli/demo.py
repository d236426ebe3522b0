"""`privee demo`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from privee.cli.output import err, out, print_json
from privee.defenses import defense as make_defense
from privee.errors import PriveeError

SPECS = (
    "none",
    "privee-u:rho=0.1",
    "privee-u+:rho_low=0.1,rho_high=0.9",
    "rounding:digits=2",
    "gaussian:epsilon=0.5",
    "ranking-only",
)


def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Folder for the picture.")] = Path("demo-output"),
    seed: Annotated[int, typer.Option(help="For data split and draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Releases of a joint model on bundled digits: what is kept, what moves, what an attacker gets back.

    Example: `privee demo --out demo-output`
    """
    try:
        from privee import demo as lab

        with err.status("training a logistic model on digits ..."):
            scores, accuracy = lab.digit_scores(seed)
    except ModuleNotFoundError as error:
        raise PriveeError(f"the demo needs {error.name}: pip install 'privee[demo]'") from None
    rows = lab.compare_defenses(scores, [make_defense(spec) for spec in SPECS], seed)
    vector = scores[np.argmin(np.abs(scores.max(axis=1) - 0.6))]
    picture = folder / "privee-demo.png"
    with err.status("repeating queries and drawing ..."):
        lab.draw(picture, vector, make_defense("privee-u:rho=0.1"), lab.repeated_query_curves(vector, seed=seed))
    if as_json:
        print_json({"accuracy": accuracy, "picture": str(picture), "rows": [row._asdict() for row in rows]})
        return
    out.print(f"Logistic model, digits, {len(scores)} held-out records, 10 classes, accuracy {accuracy:.1%}\n")
    out.print(_table(rows))
    out.print(
        "Error: mean absolute difference to the true scores, per class, for an attacker who takes the release as it is "
        "(ignoring) or undoes what is public about the defense (knowing). Small means given away."
    )
    out.print(f"\nPicture: {picture}", markup=False)


def _table(rows: Sequence[tuple[Any, ...]]) -> Table:
    table = Table()
    table.add_column("defense", overflow="fold", min_width=22)
    for heading in ("ranking\nkept", "class\nkept", "mean L1\nmoved", "error,\nignoring", "error,\nknowing"):
        table.add_column(heading, justify="right")
    for spec, ranking, label, moved, naive, adaptive in rows:
        table.add_row(spec, f"{ranking:.1%}", f"{label:.1%}", f"{moved:.3f}", f"{naive:.5f}", f"{adaptive:.5f}")
    return table
