"""What codes tell of each column, on Adult: the column told best, with and without `--sensitive`, and with epsilon.

    PRIVEE_DATA_DIR=... python benchmarks/sealed_columns.py [--folder FOLDER] [--seeds 0 1 2] [--show]

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


def show(cells: dict[str, Any]) -> None:
    print("| seal | seed | accuracy | told best | left | AUC (guess) | relationship left | marital-status left |")
    print("|---|---|---|---|---|---|---|---|")
    for key, cell in cells.items():
        name, worst = next(iter(cell["columns"].items()))
        aucs = "-" if worst["auc"] is None else f"{worst['auc']:.2f} ({worst['guess_auc']:.2f})"
        others = " | ".join(f"{cell['columns'][one]['left']:.2f}" for one in SENSITIVE)
        spec, _, seed = key.rpartition(", seed ")
        row = (spec, seed, f"{cell['accuracy']:.1%}", f"{name}, {worst['grade']}", f"{worst['left']:.2f}", aucs, others)
        print(f"| {' | '.join(row)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "privee-sealed-frontier")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--show", action="store_true", help="print what is stored and measure nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    cells: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for seed in [] if given.show else given.seeds:
        for spec, sensitive in CASES:
            key = f"{spec}{', sensitive' if sensitive else ''}, seed {seed}"
            if key not in cells:
                cells[key] = measured(spec, sensitive, seed, given.folder)
                RESULTS.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    show(cells)


if __name__ == "__main__":
    main()
