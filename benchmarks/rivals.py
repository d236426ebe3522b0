"""Ordered-DP beside its rivals at equal epsilon: the one-parameter defense and OP-epsilon. How far each moves scores.

    python benchmarks/rivals.py

Epsilon is that of one release for the whole score vector: given the ranking (Ordered-DP, one-parameter), or of any two
vectors (OP-epsilon, whose published epsilon is set so that whole vectors get this one). Scores: of a logistic and a
neural model on digits and breast-cancer, and flat ones (Dirichlet) with 2, 10 and 100 classes. "learned" is Ordered-DP
with tail and prior from other vectors of the same kind; "inverted" is a rival's release after its own public inverse,
which costs no epsilon; "known" is any of the three read with those other vectors (`inverse_by`), the same for each, so
that none has the advantage of knowing what scores look like. "Credited", with two classes: the one-parameter defense
charged for what its release tells when sorted, normalised and rounded to 128 parts (`told_of_two`), not for its draws.
Also: what defenses without an epsilon (ART's two post-processors, MemGuard, Purifier) move, leave after their inverse,
and keep of ranking and class. Prints tables and stores benchmarks/results/rivals.json.
"""

from __future__ import annotations

import functools
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
from privee.defenses.exponential_mechanism import step_for
from privee.defenses.one_parameter import GRID as ONE_GRID
from privee.defenses.simulated_inverse import inverse_by
from privee.theory import rows_in_order

RESULTS = Path(__file__).parent / "results" / "rivals.json"
EPSILONS = (1.0, 4.0, 16.0, 64.0)
DRAWS = 20
ROWS = 300
COARSE, PARTS = 1024, 128
Array = np.ndarray
Release = Callable[[Sequence[int]], list[Array]]


def told_of_two(epsilon: float) -> float:
    """The epsilon of two draws after sorting, normalising and rounding, from all pairs on a coarser grid."""
    places = np.arange(COARSE + 1)
    step = epsilon_of_draws(epsilon) * ONE_GRID / COARSE
    weights = np.exp(-step * np.abs(places[:, None] - places))
    chances = weights / weights.sum(axis=1, keepdims=True)
    lower = lower_share(np.stack(np.meshgrid(places, places, indexing="ij"), axis=-1).reshape(-1, 2))
    part = np.minimum((lower * 2 * PARTS).astype(int), PARTS - 1)
    inputs = np.linspace(0, COARSE // 2, 17).astype(int)
    each = [np.outer(chances[COARSE - low], chances[low]).ravel() for low in inputs]
    logs = np.log([np.bincount(part, weights=one, minlength=PARTS) for one in each])
    return float((logs[:, None] - logs[None]).max())


def lower_share(draws: Array) -> Array:
    """Of two draws; equal ones where both are zero, as the defense has it."""
    total = draws.sum(axis=1)
    return np.asarray(np.divide(draws.min(axis=1), total, out=np.full(len(draws), 0.5), where=total > 0))


def epsilon_of_draws(epsilon: float) -> float:
    """The step of the one-parameter defense for two classes."""
    return privee.OneParameter(epsilon).guarantee(2).figures["epsilon_per_score"] / (2 * ONE_GRID)


@functools.lru_cache
def credited(epsilon: float) -> privee.Defense:
    """The one-parameter defense whose releases of two classes tell this much."""
    return privee.OneParameter(round(step_for(epsilon, told_of_two, 8 * epsilon), 3))


def rounded(releases: Array) -> Array:
    """Of two classes, to the middle of the part."""
    lower = (np.minimum(np.floor(releases.min(axis=1) * 2 * PARTS), PARTS - 1) + 0.5) / (2 * PARTS)
    first = np.where(releases[:, 0] < releases[:, 1], lower, 1 - lower)
    return np.stack([first, 1 - first], axis=1)


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

    def read_rounded(defense: privee.Defense) -> Release:
        def read(seeds: Sequence[int]) -> list[Array]:
            made = rounded(np.concatenate(released(defense)(seeds)))
            return np.split(inverse_by(defense, made, others), len(seeds))

        return read

    two = {"one-parameter, known, credited": read_rounded(credited(epsilon))} if scores.shape[1] == 2 else {}
    return two | {
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
                    **({"charged": credited(epsilon).settings()["epsilon"]} if "credited" in form else {}),
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
