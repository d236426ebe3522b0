"""Ordered-DP beside its rivals at equal epsilon: the one-parameter defense and OP-epsilon. How far each moves scores.

    python benchmarks/rivals.py

Epsilon is that of one release for the whole score vector: given the ranking (Ordered-DP, one-parameter), or of any two
vectors (OP-epsilon, whose published epsilon is set so that whole vectors get this one). Scores: of a logistic and a
neural model on digits and breast-cancer, and flat ones (Dirichlet) with 2, 10 and 100 classes. "learned" is Ordered-DP
with tail and prior from other vectors of the same kind; "inverted" is a rival's release after its own public inverse,
which costs no epsilon; "known" is any of the three read with those other vectors (`inverse_by`), the same for each, so
that none has the advantage of knowing what scores look like. Also: what defenses without an epsilon (ART's two
post-processors, MemGuard, Purifier) move, leave after their inverse, and keep of ranking and class. Prints tables and
stores benchmarks/results/rivals.json.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import privee
from privee.audit import subject_from_dataset
from privee.defenses.simulated_inverse import inverse_by
from privee.theory import rows_in_order

RESULTS = Path(__file__).parent / "results" / "rivals.json"
EPSILONS = (1.0, 4.0, 16.0, 64.0)
DRAWS = 20
ROWS = 300
Array = np.ndarray
Release = Callable[[Sequence[int]], list[Array]]


def sets_of_scores() -> dict[str, tuple[Array, Array]]:
    """Score vectors to release, and others of the same kind to learn from."""
    rng = np.random.default_rng(0)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for dataset in ("digits", "breast-cancer"):
            for model in ("logistic", "mlp"):
                subject = subject_from_dataset(
                    dataset, model, Path(folder) / f"{dataset}-{model}", fraction=0.5, seed=1
                )
                found[f"{dataset}, {model}"] = subject.sample(0, 2 * ROWS, 10).scores
    found |= {f"flat, K {classes}": rng.dirichlet([1.0] * classes, 2 * ROWS) for classes in (2, 10, 100)}
    return {name: (scores[::2], scores[1::2]) for name, scores in found.items()}


def forms(scores: Array, others: Array, epsilon: float) -> dict[str, Release]:
    """What each defense hands out, by seeds."""
    op = privee.OpEpsilon.for_vector(epsilon, scores.shape[1], seed=1)
    ours, learned = privee.OrderedDP(epsilon), privee.OrderedDP.fitted(epsilon, others)
    one = privee.OneParameter(epsilon)

    def released(defense: privee.Defense) -> Release:
        return lambda seeds: [defense.release(scores, draws=privee.seeded(seed)) for seed in seeds]

    def inverted(defense: privee.Defense) -> Release:
        return lambda seeds: [defense.estimate_scores(made) for made in released(defense)(seeds)]

    def known(defense: privee.Defense) -> Release:
        def read(seeds: Sequence[int]) -> list[Array]:
            return np.split(inverse_by(defense, np.concatenate(released(defense)(seeds)), others), len(seeds))

        return read

    return {
        "ordered-dp": released(ours),
        "ordered-dp, spend=all": released(privee.OrderedDP(epsilon, spend="all")),
        "ordered-dp, learned": released(learned),
        "ordered-dp, known": known(ours),
        "one-parameter": released(one),
        "one-parameter, inverted": inverted(one),
        "one-parameter, known": known(one),
        "op-epsilon": released(op),
        "op-epsilon, inverted": inverted(op),
        "op-epsilon, known": known(op),
    }


def measured(name: str, scores: Array, others: Array) -> list[dict[str, Any]]:
    """Means over vectors and draws, with the standard error over draws."""
    rows = []
    for epsilon in EPSILONS:
        for form, release in forms(scores, others, epsilon).items():
            made = release(range(DRAWS))
            moved = [float(np.abs(one - scores).sum(axis=1).mean()) for one in made]
            rows.append(
                {
                    "scores": name,
                    "classes": scores.shape[1],
                    "vectors": len(scores),
                    "form": form,
                    "epsilon": epsilon,
                    "mean_l1": round(float(np.mean(moved)), 5),
                    "standard_error": round(float(np.std(moved, ddof=1) / DRAWS**0.5), 5),
                    "ranking_kept": round(float(np.mean([rows_in_order(scores, one).mean() for one in made])), 4),
                    "class_kept": round(float(np.mean([_same_class(scores, one) for one in made])), 4),
                }
            )
    return rows


def _same_class(scores: Array, release: Array) -> float:
    """A row without anything above zero shows no class."""
    shown = release.max(axis=1) > 0
    return float((shown & (release.argmax(axis=1) == scores.argmax(axis=1))).mean())


def without_epsilon(name: str, scores: Array) -> list[dict[str, Any]]:
    """What the others keep and move, and what is left after their inverse."""
    rows = []
    for spec in ("reverse-sigmoid", "high-confidence", "memguard", "purifier"):
        defense = privee.defense(spec)
        release = defense.release(scores, draws=privee.seeded(0))
        left = defense.estimate_scores(release)
        rows.append(
            {
                "scores": name,
                "defense": spec,
                "vectors": len(scores),
                "mean_l1": round(float(np.abs(release - scores).sum(axis=1).mean()), 5),
                "left_after_inverse": round(float(np.abs(left - scores).sum(axis=1).mean()), 5),
                "ranking_kept": round(float(rows_in_order(scores, release).mean()), 4),
                "class_kept": round(_same_class(scores, release), 4),
            }
        )
    return rows


def show(stored: dict[str, list[dict[str, Any]]]) -> None:
    console = Console(width=140)
    moved = stored["equal_epsilon"]
    for name in dict.fromkeys(row["scores"] for row in moved):
        table = Table("form", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS), title=f"{name}: mean L1 moved")
        for form in dict.fromkeys(row["form"] for row in moved):
            mine = [row for row in moved if (row["scores"], row["form"]) == (name, form)]
            table.add_row(form, *(f"{row['mean_l1']:.3f}" for row in mine))
        console.print(table)
    others = stored["without_epsilon"]
    table = Table(*others[0])
    for row in others:
        table.add_row(*map(str, row.values()))
    console.print(table)


def main() -> None:
    torch.set_num_threads(1)
    sets = sets_of_scores()
    stored = {
        "equal_epsilon": [row for name, (scores, others) in sets.items() for row in measured(name, scores, others)],
        "without_epsilon": [row for name, (scores, _) in sets.items() for row in without_epsilon(name, scores)],
    }
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
    show(stored)


if __name__ == "__main__":
    main()
