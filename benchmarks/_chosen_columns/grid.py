"""What is measured of chosen columns: models, defenses, and the figures of one cell of the grid."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from privee.attacks import attack as make_attack
from privee.attacks.metrics import column_mse, feature_mse
from privee.audit import Subject, subject_from_dataset
from privee.audit.question_curve import estimates_after_each, worst_column
from privee.audit.subject import Sample
from privee.defenses import defense as make_defense
from privee.vfl.training import TrainingSettings

DEFENSES = (
    "none",
    "ranking-only",
    "privee-u:rho=0.1",
    "ordered-dp:epsilon=1",
    "label-only",
    "ordered-dp:epsilon=16",
    "ordered-dp:epsilon=4,keep_top=1",
    "ordered-dp:epsilon=4,keep_top=3",
    "rounding:digits=1",
    "rounding:digits=2",
    "gaussian:epsilon=0.5",
)
SUBJECTS = (
    ("digits", "logistic"),
    ("digits", "mlp"),
    ("drive", "logistic"),
    ("drive", "mlp"),
    ("adult", "logistic"),
    ("adult", "mlp"),
    ("mnist", "logistic"),
    ("mnist", "mlp"),
)
SPLIT: dict[str, tuple[float, Any]] = {"digits": (56 / 64, "random")}
HALF: tuple[float, Any] = (0.5, None)
TRAINING = {
    ("digits", "logistic"): TrainingSettings(epochs=40, batch_size=32, learning_rate=1e-2, seed=1),
    ("digits", "mlp"): TrainingSettings(epochs=40, batch_size=32, learning_rate=1e-2, seed=1),
    ("drive", "logistic"): TrainingSettings(epochs=10, batch_size=128, learning_rate=1e-2, seed=1),
    ("drive", "mlp"): TrainingSettings(epochs=8, batch_size=128, learning_rate=1e-3, seed=1),
    ("adult", "logistic"): TrainingSettings(epochs=5, batch_size=128, learning_rate=1e-2, seed=1),
    ("adult", "mlp"): TrainingSettings(epochs=5, batch_size=128, learning_rate=1e-3, seed=1),
    ("mnist", "logistic"): TrainingSettings(epochs=5, batch_size=128, learning_rate=1e-3, seed=1),
    ("mnist", "mlp"): TrainingSettings(epochs=5, batch_size=128, learning_rate=1e-3, seed=1),
}
AUXILIARY_ROWS = 500


@cache
def subject(dataset: str, model: str, models: Path) -> Subject:
    """Trained once, then taken from the folder."""
    fraction, how = SPLIT.get(dataset, HALF)
    return subject_from_dataset(
        dataset,
        model,
        models / f"chosen-{dataset}-{model}",
        fraction=fraction,
        how=how,
        seed=1,
        settings=TRAINING[dataset, model],
    )


def records_of(dataset: str) -> int:
    return 40 if dataset == "mnist" else 60


def accuracy(of: Subject) -> float | None:
    many = of.sample(0, 2000, 0)
    return many.accuracy(many.scores)


def measure(of: Subject, sample: Sample, spec: str, counts: tuple[int, ...], seed: int) -> dict[str, Any]:
    """Errors after so many questions, beside those of guesses without any answer."""
    started = time.monotonic()
    estimates = estimates_after_each(sample, make_defense(spec), counts[-1], seed)
    guesses = {name: feature_mse(guess, sample.truth) for name, guess in sample.guesses(seed).items()}
    started_from = column_mse(estimates[0], sample.truth)
    errors = {count: column_mse(estimates[count], sample.truth) for count in counts}
    told = {count: worst_column(error, started_from, of.private_columns) for count, error in errors.items()}
    return {
        "errors": {str(count): float(error.mean()) for count, error in errors.items()},
        "first guess": feature_mse(estimates[0], sample.truth),
        **guesses,
        "best-told tenth of records": {
            str(count): _best_told_tenth(estimates[count], estimates[0], sample.truth) for count in counts
        },
        "best-told column": {str(count): {"name": one.name, "left": one.left} for count, one in told.items()},
        "records": len(sample.own),
        "seconds": round(time.monotonic() - started, 1),
    }


def measure_honest(sample: Sample, spec: str, seed: int) -> dict[str, Any]:
    """What one question with the true own columns gives to the attacks that need no more."""
    defense = make_defense(spec)
    view = sample.view(sample.releases(defense, seed, 1), defense, adaptive=True)
    attacks = [make_attack(name) for name in ("equation-solving", "prior-informed")]
    return {
        one.name: feature_mse(one.run(view, seed=seed).unknown, sample.truth)
        for one in attacks
        if one.why_not(view) is None
    }


def _best_told_tenth(estimate: Tensor, guess: Tensor, truth: Tensor) -> float:
    """Of a tenth of the records no more than this share of the guess's error is left."""
    off, guessed = ((one - truth).square().mean(dim=1).numpy() for one in (estimate, guess))
    return float(np.quantile(off / np.maximum(guessed, 1e-12), 0.1))
