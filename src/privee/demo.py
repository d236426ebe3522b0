"""The demo in three acts: scores undone, a defense undone, and an exact ranking undone by five chosen questions.

Two joint models on bundled digits; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from privee.audit import Audit, Grid, run_grid, subject_from_dataset

DEFENSES = ("none", "privee-u:rho=0.1", "privee-u+:rho_low=0.1,rho_high=0.9", "ordered-dp:epsilon=4", "ranking-only")
ATTACKS = ("equation-solving", "gradient-inversion", "learned-inversion", "prior-informed", "boosted-trees")
MODELS = ("logistic", "mlp")
QUESTIONS = (5,)
KNOWN = 56 / 64
SEED = 1
"""Deals out the columns: 8 pixels across the picture are the passive party's."""


def run_demo(
    folder: Path,
    *,
    seeds: int = 3,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, of: None,
) -> Audit:
    """Train, attack, sum up; what the folder holds already is not done again."""
    subjects = [
        subject_from_dataset(
            "digits",
            model,
            folder / "models" / model,
            fraction=KNOWN,
            how="random",
            seed=SEED,
            on_step=lambda epoch, of, step, steps, m=model: progress(f"training {m}", epoch, of),  # type: ignore[misc]
        )
        for model in MODELS
    ]
    grid = Grid(defenses=DEFENSES, attacks=ATTACKS, seeds=tuple(range(seeds)), questions=QUESTIONS)
    return run_grid(subjects, grid, jobs=jobs, folder=folder, progress=lambda done, of: progress("attacking", done, of))


def acts(found: Audit) -> tuple[str, ...]:
    """The story in three sentences, with what was measured on the first model."""
    none, hidden, ranking = (found.card(spec) for spec in ("none", "privee-u:rho=0.1", "ranking-only"))
    first = f"The scores as they are leave {none.guess_normalised:.1%} of a guess's error: {none.grade}."
    off = hidden.naive.error.mean / hidden.guess.error.mean if hidden.naive is not None else 1.0
    second = (
        f"PRIVEE-U keeps the ranking and moves every score. Who ignores it is off by {off:.0f} times a guess's error; "
        f"who knows it leaves {hidden.guess_normalised:.1%}: {hidden.grade}."
    )
    again = ranking.most_asked
    if again is None:
        return first, second
    third = (
        f"The ranking alone, whatever the numbers, is {ranking.grade} if asked once and honestly. Asked "
        f"{again.questions} times about the same record, with own columns of the attacker's choice, it leaves "
        f"{again.guess_normalised:.1%}: {again.grade}. So the gateway answers one such question about a record."
    )
    return first, second, third
