"""How to train, on the command line: the same options for one process and for a federation, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from privee.vfl.joint_data import JointData
    from privee.vfl.training import TrainingSettings

SUITED = "Default: suits model and table; for pictures "

Epochs = Annotated[int | None, typer.Option(min=1, help=f"Passes over the training rows, at most. {SUITED}30.")]
Batch = Annotated[int | None, typer.Option(min=1, help=f"Rows per step. {SUITED}128.")]
Rate = Annotated[float | None, typer.Option(help=f"Of the optimizer. {SUITED}0.001.")]
Patience = Annotated[
    int | None,
    typer.Option(min=0, help=f"Stop after so many epochs without a better validation loss; 0: never. {SUITED}0."),
]
ValidationShare = Annotated[
    float | None,
    typer.Option(help="Share of the training rows kept for early stopping. Default: 0.1, of few rows 0.2."),
]
Scaling = Annotated[
    Literal["none", "standard", "quantile"] | None,
    typer.Option(help=f"How each party brings its columns to one scale, by its own rows. {SUITED}none."),
]
ClassWeights = Annotated[
    Literal["none", "balanced"],
    typer.Option(help="balanced: every class counts alike; scores are then too high for rare ones."),
]
Penalty = Annotated[
    float | None, typer.Option(min=0, help=f"On the squares of the weights: 1 / C of scikit-learn. {SUITED}0.")
]
Schedule = Annotated[
    Literal["constant", "cosine"] | None,
    typer.Option(help=f"cosine: the learning rate falls to 0 over the epochs. {SUITED}constant."),
]
Optimizer = Annotated[
    Literal["adam", "sgd"], typer.Option(help="sgd: with a momentum of 0.9; it wants a larger learning rate.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="Of torch. Default: one, more for large models.")]

SOME_PATIENCE = 10
NAMES = (
    *("epochs", "batch_size", "learning_rate", "patience", "validation_share"),
    *("scaling", "class_weights", "penalty", "schedule", "optimizer"),
)
"""Of the settings that options give; commands hand over all they have, so that this list stands here alone."""


def given_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a command was told of the training, out of all its options; a patience of 0 is none at all."""
    given = {name: options[name] for name in NAMES if options.get(name) is not None}
    if "validation_share" in given:  # rows are kept for early stopping and nothing else
        given.setdefault("patience", SOME_PATIENCE)
    return given | ({"patience": given["patience"] or None} if "patience" in given else {})


def open_settings(
    given: dict[str, Any], *, dataset: str | None, seed: int, **fixed: Any
) -> tuple[TrainingSettings, tuple[str, ...]]:
    """The settings as far as they are known, and the names of those that the table will decide."""
    from privee.vfl.defaults import left_open
    from privee.vfl.training import TrainingSettings

    return TrainingSettings(seed=seed, **fixed, **given), left_open(given, dataset=dataset)


def filled(training: TrainingSettings, left: tuple[str, ...], kind: str, data: JointData) -> TrainingSettings:
    """With what was left open as it suits the table."""
    from privee.vfl.defaults import filled_settings

    return filled_settings(training, left, model=kind, rows=len(data.train), n_classes=len(data.class_names))
