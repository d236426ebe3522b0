"""The demo: two joint models on bundled digits, five releases, five attacks; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from privee.audit import Audit, Grid, run_grid, subject_from_dataset

DEFENSES = ("none", "privee-u:rho=0.1", "privee-u+:rho_low=0.1,rho_high=0.9", "ordered-dp:epsilon=4", "ranking-only")
ATTACKS = ("equation-solving", "gradient-inversion", "learned-inversion", "prior-informed", "boosted-trees")
MODELS = ("logistic", "mlp")
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
    grid = Grid(defenses=DEFENSES, attacks=ATTACKS, seeds=tuple(range(seeds)))
    return run_grid(subjects, grid, jobs=jobs, folder=folder, progress=lambda done, of: progress("attacking", done, of))
