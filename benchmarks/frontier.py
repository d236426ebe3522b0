"""The frontier: attainable protection against distortion for every defense, at T = 1, 10, 100 and 1,000 queries.

    PRIVEE_DATA_DIR=... python benchmarks/frontier.py [digits drive mnist]

Logistic and neural models. The headline of every cell is the smallest error over all attacks (adaptive, joined over T
releases) and over the guesses that need no release. One audit per dataset and T; each
can be interrupted and goes on where it stopped (benchmarks/runs). Stores benchmarks/results/frontier.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from privee.audit import Audit, Grid, Subject, run_grid, subject_from_dataset
from privee.vfl.training import TrainingSettings

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "frontier.json"
QUERIES = (1, 10, 100, 1000)
DEFENSES = (
    "none",
    "privee-u:rho=0.1",
    "privee-u+:rho_low=0.1,rho_high=0.9",
    "rounding:digits=1",
    "rounding:digits=2",
    "gaussian:epsilon=0.5",
    *(f"ordered-dp:epsilon={epsilon}" for epsilon in (1, 4, 16, 32, 64)),
    "ordered-dp:epsilon=64,spend=all",
    "ordered-dp:epsilon=4,keep_top=1",
    "ordered-dp:epsilon=16,keep_top=1",
    "ranking-only",
    "label-only",
)
ATTACKS = ("equation-solving", "learned-inversion", "prior-informed")
MODELS = ("logistic", "mlp")
TRAINING = {
    "digits": TrainingSettings(epochs=40, batch_size=32, learning_rate=1e-2, seed=1),
    "drive": TrainingSettings(epochs=30, batch_size=128, learning_rate=1e-4, seed=1),
    "mnist": TrainingSettings(epochs=5, batch_size=128, learning_rate=1e-3, seed=1),
}
SPLIT = {"digits": (56 / 64, "random"), "drive": (40 / 48, "random"), "mnist": (776 / 784, "random")}
"""Eight columns unknown in each case, so that equation solving has as many equations as it needs."""


def subjects(dataset: str) -> list[Subject]:
    fraction, how = SPLIT[dataset]
    return [
        subject_from_dataset(
            dataset,
            model,
            HERE / "runs" / f"frontier-{dataset}-{model}",
            fraction=fraction,
            how=how,
            seed=1,
            settings=TRAINING[dataset],
        )
        for model in MODELS
    ]


def attacks(queries: int) -> tuple[str, ...]:
    """With several releases each attack takes their mean; for PRIVEE-U there is a better way to join them."""
    joined = (f"repeated-query:inner={inner},estimator=likelihood" for inner in ("equation-solving", "prior-informed"))
    return ATTACKS if queries == 1 else (*ATTACKS, *joined)


def measure(dataset: str, queries: int) -> list[dict[str, Any]]:
    seeds = (0, 1, 2) if queries <= 10 else (0,)
    grid = Grid(
        defenses=DEFENSES,
        attacks=attacks(queries),
        attackers=("adaptive",),
        seeds=seeds,
        queries=queries,
        pictures=False,
        curves=False,
    )
    found = run_grid(subjects(dataset), grid, folder=HERE / "runs" / f"frontier-{dataset}-{queries}")
    return rows(found, dataset, queries)


def rows(found: Audit, dataset: str, queries: int) -> list[dict[str, Any]]:
    return [
        {
            "dataset": dataset,
            "model": card.subject.split(", ")[1],
            "queries": queries,
            "defense": card.defense,
            "mean_l1": card.mean_l1_moved,
            "top_error": card.top_score_error,
            "error": card.headline.error.mean,
            "low": card.headline.error.low,
            "high": card.headline.error.high,
            "attack": card.headline.attack,
            "guess": card.guess.error.mean,
            "mean_guess": card.mean_guess.mean,
            "guess_normalised": card.guess_normalised,
            "attainable_protection": card.attainable_protection,
            "seeds": card.headline.error.seeds,
        }
        for card in found.cards
    ]


def show(stored: list[dict[str, Any]]) -> None:
    for dataset, model in dict.fromkeys((row["dataset"], row["model"]) for row in stored):
        mine = [row for row in stored if (row["dataset"], row["model"]) == (dataset, model)]
        table = Table(title=f"{dataset}, {model}: attainable protection (share of the best guess's error left)")
        table.add_column("defense")
        table.add_column("mean L1", justify="right")
        counts = list(dict.fromkeys(row["queries"] for row in mine))
        for queries in counts:
            table.add_column(f"T = {queries}", justify="right")
        for defense in dict.fromkeys(row["defense"] for row in mine):
            cells = {row["queries"]: row for row in mine if row["defense"] == defense}
            table.add_row(
                defense,
                f"{cells[counts[0]]['mean_l1']:.3f}",
                *(
                    f"{_percent(cells[q]['attainable_protection'])} ({cells[q]['guess_normalised']:.3f})"
                    for q in counts
                    if q in cells
                ),
            )
        Console(width=150).print(table)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=["digits", "drive", "mnist"])
    parser.add_argument("--queries", type=int, nargs="*", default=list(QUERIES))
    chosen = parser.parse_args()
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for dataset in chosen.datasets:
        for queries in chosen.queries:
            stored = [row for row in stored if (row["dataset"], row["queries"]) != (dataset, queries)]
            stored += measure(dataset, queries)
            RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
    show(stored)


if __name__ == "__main__":
    main()
