"""What codes tell of each column, on Adult: the column told best, with and without `--sensitive`, and with epsilon.

    PRIVEE_DATA_DIR=... python benchmarks/sealed_columns.py [--folder FOLDER] [--seeds 0 1 2] [--show] [--page]

The passive party holds marital-status, relationship, capital-gain, capital-loss and occupation. The attacker has the
code itself (`sealed-code`, as in audits): no question tells more. Cells go to benchmarks/results/sealed_columns.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._sealed import cases
from privee.audit import Grid, run_grid
from privee.audit.sources import _subject
from privee.vfl.experiment import open_model, train_run
from privee.vfl.seal import parse_seal
from privee.vfl.seal.sealing import longer

RESULTS = Path(__file__).parent / "results" / "sealed_columns.json"
PAGE = Path(__file__).parents[1] / "docs" / "sealed_parties.md"
START, END = "<!-- columns: made by benchmarks/sealed_columns.py --page -->", "<!-- end -->"
HEAD = (
    "| Adult, three seeds | accuracy | told best, by an audit's `sealed-code` | left | AUC (guess) | relationship left "
    "| marital-status left |\n|---|---|---|---|---|---|---|"
)
SENSITIVE = ("relationship", "marital-status")
CASES = (
    ("codes=8", ()),
    ("codes=8", SENSITIVE),
    ("codes=8,epsilon=4", ()),
    ("codes=8,epsilon=2", ()),
    ("codes=8,epsilon=1", ()),
    ("codes=8,learn=own", ()),
    ("codes=8,learn=own", SENSITIVE),
)


def measured(spec: str, sensitive: tuple[str, ...], seed: int, folder: Path) -> dict[str, Any]:
    data, path = cases.data_of("adult", seed), folder / "adult-columns"
    shutil.rmtree(path, ignore_errors=True)
    seal = dataclasses.replace(parse_seal(spec), sensitive=sensitive)
    teacher, settings = cases.unsealed("adult", seed, folder), longer(cases.settings_of("adult", seed))
    outcome = train_run(path, data, "mlp", settings, seals={"passive-1": seal}, teacher=teacher)
    subject = _subject("adult", "mlp", open_model(path, data), data)
    attacks = ("sealed-code", "sealed-code:learner=trees")
    grid = Grid(defenses=("none",), attacks=attacks, seeds=(seed,), questions=(), curves=False, own_columns=False)
    (card,) = run_grid([subject], grid, jobs=1).cards
    told = {
        column.name: {"grade": column.grade, "left": column.remaining, "auc": column.auc, "guess_auc": column.guess_auc}
        for column in card.without_end.columns
    }
    return {"accuracy": outcome.test.accuracy, "auc": outcome.worth.utility.auc, "grade": card.grade, "columns": told}


def rows(cells: dict[str, Any]) -> list[str]:
    """One line for each seal; of several seeds from the lowest figure to the highest."""
    seals: dict[str, list[dict[str, Any]]] = {}
    for key, cell in cells.items():
        seals.setdefault(key.rpartition(", seed ")[0], []).append(cell)
    lines = [HEAD]
    for spec, some in seals.items():
        worst = [next(iter(cell["columns"].items())) for cell in some]
        names = "; ".join(dict.fromkeys(f"{name}, {one['grade']}" for name, one in worst))
        figures = [[one[kind] for _, one in worst if one[kind] is not None] for kind in ("left", "auc", "guess_auc")]
        told = [spanned([cell["accuracy"] for cell in some], "{:.1%}"), names, spanned(figures[0])]
        told += [f"{spanned(figures[1])} ({spanned(figures[2])})" if figures[1] else "-"]
        told += [spanned([cell["columns"][name]["left"] for cell in some]) for name in SENSITIVE]
        lines.append(f"| {spec.replace(', sensitive', ', both sensitive')} | {' | '.join(told)} |")
    return lines


def spanned(values: list[float], form: str = "{:.2f}") -> str:
    """`0.03 to 0.04`, or one figure where they read alike."""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def write_page(lines: list[str]) -> None:
    """Put the table into the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{START}\n{table}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "privee-sealed-frontier")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--show", action="store_true", help="print what is stored and measure nothing")
    parser.add_argument("--page", action="store_true", help="put what is stored into docs/sealed_parties.md as well")
    given = parser.parse_args()
    torch.set_num_threads(1)
    cells: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for seed in [] if given.show or given.page else given.seeds:
        for spec, sensitive in CASES:
            key = f"{spec}{', sensitive' if sensitive else ''}, seed {seed}"
            if key not in cells:
                cells[key] = measured(spec, sensitive, seed, given.folder)
                RESULTS.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    lines = rows(cells)
    print("\n".join(lines))
    if given.page:
        write_page(lines)


if __name__ == "__main__":
    main()
