"""Training settings that suit a table, for whatever was not said: alike in one process and across machines.

They follow from the model, the number of training rows and that of classes, which every role knows, so each computes
them for itself. Pictures are trained as `TrainingSettings` says: their columns are on one scale already.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from privee.data.datasets import dataset_info
from privee.vfl.training import TrainingSettings

LINEAR = "logistic"
STEPS = 3000
"""How many steps a training should have: enough for a logistic model to settle."""
FEWEST_EPOCHS, MOST_EPOCHS = 20, 200
SMALLEST_BATCH, LARGEST_BATCH = 32, 256
SMALL = 2000
"""Below so many training rows a tenth of them says little, so more are held for validation."""

LEFT_OPEN = (
    "epochs",
    "batch_size",
    "learning_rate",
    "patience",
    "validation_share",
    "scaling",
    "penalty",
    "schedule",
)
"""The settings that can be left to this module."""


def left_open(given: Mapping[str, Any], *, dataset: str | None) -> tuple[str, ...]:
    """Which settings are to be chosen here: those not given, and none of them for pictures."""
    if dataset is not None and dataset_info(dataset).picture is not None:
        return ()
    return tuple(name for name in LEFT_OPEN if name not in given)


def suited_settings(model: str, *, rows: int, n_classes: int) -> dict[str, Any]:
    """Settings that suit a model and a table of so many training rows.

    A logistic model is fitted as scikit-learn's LogisticRegression is: standard scaling, the same penalty, all rows,
    until it has settled. Any other model would learn its rows by heart, and stops early on rows held out for that.
    """
    batch = _batch_size(rows)
    chosen: dict[str, Any] = {"batch_size": batch, "epochs": _epochs(rows, batch), "schedule": "cosine"}
    # Two classes have two scores with a weight each, which share the one weight of a regression between them.
    chosen |= {"penalty": 2.0 if n_classes == 2 else 1.0}
    if model == LINEAR:
        return chosen | {"learning_rate": 0.02, "scaling": "standard", "patience": None, "validation_share": 0.1}
    share = 0.1 if rows >= SMALL else 0.2
    patience = max(5, _epochs(rows, batch) // 5)
    return chosen | {"learning_rate": 1e-3, "scaling": "quantile", "patience": patience, "validation_share": share}


def filled_settings(
    settings: TrainingSettings, left: Collection[str], *, model: str, rows: int, n_classes: int
) -> TrainingSettings:
    """The settings with those that were left open as they suit the model and the table."""
    suited = suited_settings(model, rows=rows, n_classes=n_classes)
    return dataclasses.replace(settings, **{name: suited[name] for name in left})


def _batch_size(rows: int) -> int:
    """A power of two, so that there are some 64 to 128 steps in an epoch where the bounds allow it."""
    size = SMALLEST_BATCH
    while size < LARGEST_BATCH and size * 128 <= rows:
        size *= 2
    return size


def _epochs(rows: int, batch: int) -> int:
    return max(FEWEST_EPOCHS, min(MOST_EPOCHS, round(STEPS * batch / rows)))
