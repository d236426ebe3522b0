"""The figures that show that the attacks are real, with the guesses they have to be compared with.

    PRIVEE_DATA_DIR=... python benchmarks/attack_figures.py [drive digits]

drive   generator GRNA, undefended, 28 known and 20 unknown columns, column means known (published: 0.0449 where a
        uniform guess gives 0.1718); the last 20 columns and three random choices of 20
digits  equation solving on a logistic model with 8 unknown columns; PRIVEE-U as its perturbation vanishes; and what
        the ranking gives away to an attacker who may, or may not, use how its own columns go with the unknown ones

Prints tables and stores benchmarks/results/attack_figures.json. Models are kept in benchmarks/runs.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from privee.audit import Grid, run_grid, subject_from_dataset
from privee.audit.cards import estimate
from privee.audit.results import Audit, short_number, with_interval
from privee.vfl.training import TrainingSettings

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "attack_figures.json"
SEEDS = (0, 1, 2)
DRIVE_TRAINING = TrainingSettings(epochs=60, batch_size=128, learning_rate=3e-4)


def errors(found: Audit, attack: str, defense: str = "", attacker: str = "guess") -> list[float]:
    """Feature MSE over seeds."""
    return [
        f.feature_mse
        for f in found.findings
        if (f.attack, f.defense, f.attacker) == (attack, defense, attacker) and f.feature_mse is not None
    ]


def row(found: Audit, name: str, attack: str, defense: str, attacker: str) -> dict[str, Any]:
    made = {"case": name, "attack": attack, "defense": defense, "attacker": attacker}
    made["feature_mse"] = errors(found, attack, defense, attacker)
    for guess in ("uniform guess", "mean guess", "regression guess"):
        made[guess] = estimate(errors(found, guess)).mean
    return made


def drive() -> list[dict[str, Any]]:
    rows = []
    for how, seed in (("contiguous", 0), ("random", 0), ("random", 1), ("random", 2)):
        subject = subject_from_dataset(
            "drive",
            "mlp",
            HERE / "runs" / f"drive-{how}-{seed}",
            fraction=28 / 48,
            how=how,
            seed=seed,
            settings=DRIVE_TRAINING,
        )
        grid = Grid(
            defenses=("none",),
            attacks=("grna-generator",),
            records=10_000,
            auxiliary_rows=2000,
            seeds=SEEDS,
            pictures=False,
        )
        found = run_grid([subject], grid)
        name = f"drive, {how} {seed}, accuracy {found.subjects[0].accuracy:.3f}"
        rows += [row(found, name, attack, "none", "naive") for attack in grid.attacks]
    return rows


def digits() -> list[dict[str, Any]]:
    subject = subject_from_dataset(
        "digits", "logistic", HERE / "runs" / "digits-logistic", fraction=56 / 64, how="random", seed=1
    )
    strengths = tuple(f"privee-u:rho={rho}" for rho in (0.1, 1, 10, 1000, 1e6, 1e9))
    attacks = ("equation-solving", "prior-informed", "learned-inversion", "learned-inversion:own_columns=false")
    grid = Grid(
        defenses=("none", *strengths, "ranking-only", "label-only"), attacks=attacks, seeds=SEEDS, pictures=False
    )
    found = run_grid([subject], grid)
    return [row(found, "digits", attack, spec, "adaptive") for spec in grid.defenses for attack in attacks]


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(title="feature MSE, mean over seeds with 95 % interval")
    for heading in ("case", "defense", "attack", "error", "uniform", "mean", "regression"):
        table.add_column(heading)
    for one in rows:
        guesses = (short_number(one[f"{guess} guess"]) for guess in ("uniform", "mean", "regression"))
        attack = f"{one['attack']} ({one['attacker']})"
        table.add_row(one["case"], one["defense"], attack, with_interval(estimate(one["feature_mse"])), *guesses)
    Console(width=200).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=["drive", "digits"])
    chosen = parser.parse_args().cases
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for case in chosen:
        stored[case] = {"drive": drive, "digits": digits}[case]()
        show(stored[case])
        RESULTS.write_text(json.dumps({"torch": torch.__version__} | stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
