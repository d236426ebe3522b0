"""Training: epochs, early stopping, checkpoints, and the same result whether or not it was interrupted.

The paper's settings by dataset are here too.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from privee.errors import PriveeError, SettingError
from privee.vfl.coordinator import Coordinator
from privee.vfl.learner import OPTIMIZERS, Learner
from privee.vfl.messages import Report
from privee.vfl.models import SumTop
from privee.vfl.pipeline import pipelined_epoch
from privee.vfl.scaling import scaling_of
from privee.vfl.seal.books import SealedTop
from privee.vfl.seal.steps import start_steps
from privee.vfl.seeds import batches, seed_everything

LATER = ("pipeline", "scaling", "class_weights", "penalty", "schedule", "optimizer")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How to train; the defaults are a plain training, those that suit a table are in `privee.vfl.defaults`.

    Attributes:
        epochs: passes over the training rows, at most.
        batch_size: rows per step.
        learning_rate: of the optimizer, the same for every role.
        seed: for weights, batches and, where a model has any, dropout.
        patience: stop after this many epochs without a better validation loss, and go back to the best; None: never.
        validation_share: share of the training rows kept for validation when `patience` is set.
        pipeline: one exchange per step instead of two, with embeddings one step older (see `privee.vfl.pipeline`).
        scaling: `standard` or `quantile` brings each party's columns to one scale (see `privee.vfl.scaling`).
        class_weights: `balanced` counts every class alike, however rare; scores then are no probabilities any more.
        penalty: on the squares of the weights, in the unit of 1 / C of scikit-learn's LogisticRegression.
        schedule: `cosine` lets the learning rate fall to 0 over the epochs; `constant` leaves it.
        optimizer: `adam`, or `sgd` for stochastic gradient descent with a momentum of 0.9.
    """

    epochs: int = 30
    batch_size: int = 128
    learning_rate: float = 1e-3
    seed: int = 0
    patience: int | None = None
    validation_share: float = 0.1
    pipeline: bool = False
    scaling: str = "none"
    class_weights: str = "none"
    penalty: float = 0.0
    schedule: str = "constant"
    optimizer: str = "adam"

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("patience", 1)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise SettingError(f"{name} must be a whole number from {least} on, got {value!r}")
        if not 0 < self.learning_rate < math.inf:
            raise SettingError(f"learning_rate must be above 0, got {self.learning_rate!r}")
        if not 0 < self.validation_share < 1:
            raise SettingError(f"validation_share must be between 0 and 1, got {self.validation_share!r}")
        if not 0 <= self.penalty < math.inf:
            raise SettingError(f"penalty must be 0 or more, got {self.penalty!r}")
        scaling_of(self.scaling)
        choices = {
            "class_weights": ("none", "balanced"),
            "schedule": ("constant", "cosine"),
            "optimizer": tuple(OPTIMIZERS),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise SettingError(f"{name} must be {' or '.join(known)}, got {getattr(self, name)!r}")

    def rate(self, epoch: int) -> float:
        """The learning rate after so many epochs."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * (1 + math.cos(math.pi * min(epoch, self.epochs) / self.epochs)) / 2

    def decay(self, rows: int) -> float:
        """The pull of the penalty on a weight, beside a mean over so many training rows."""
        return self.penalty / max(1, rows)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what came later only if it is on, so that older run folders still agree."""
        fields = {field.name: field.default for field in dataclasses.fields(self)}
        plain = dataclasses.asdict(self)
        return {name: value for name, value in plain.items() if name not in LATER or value != fields[name]}


@dataclasses.dataclass
class TrainingState:
    """How far a training is: all that a checkpoint needs beside the learners' tensors."""

    epoch: int = 0
    best_epoch: int = 0
    best_loss: float = math.inf
    stopped: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON (no infinity there)."""
        return dataclasses.asdict(self) | {"best_loss": self.best_loss if math.isfinite(self.best_loss) else None}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainingState:
        """The inverse of `as_dict`."""
        loss = values["best_loss"]
        return cls(**values | {"best_loss": math.inf if loss is None else loss})


class Keeper(Protocol):
    """Where checkpoints and metrics go; a run folder, or nowhere."""

    def save(self, progress: TrainingState, learners: dict[str, Learner], *, best: bool) -> None:
        """Keep a checkpoint; `best` if validation was best after this epoch."""

    def restore(self, learners: dict[str, Learner]) -> TrainingState | None:
        """Put the last checkpoint back into the learners, if there is one."""

    def restore_best(self, learners: dict[str, Learner]) -> None:
        """Put the weights of the best epoch back."""

    def log(self, record: dict[str, Any]) -> None:
        """Append one line of metrics."""


OnStep = Callable[[int, int, int, int], None]
"""Called with (epoch, epochs, step, steps) after every step."""


def train(
    coordinator: Coordinator,
    learners: dict[str, Learner],
    rows: Tensor,
    settings: TrainingSettings,
    *,
    keeper: Keeper | None = None,
    on_step: OnStep = lambda *_: None,
) -> TrainingState:
    """Train the joint model on these row numbers; goes on from the keeper's last checkpoint if it has one.

    What a party does with its own columns and labels before the first step, it has done (`PassiveParty.prepare`).
    """
    seed_everything(settings.seed)
    top = (
        coordinator.learner.model.top if isinstance(coordinator.learner.model, SealedTop) else coordinator.learner.model
    )
    if settings.scaling != "none" and isinstance(top, SumTop):
        top.learn_level()
    for learner in learners.values():
        learner.start(settings.learning_rate, settings.decay(len(rows)), settings.optimizer)
    training, validation = split_validation(rows, settings)
    for learner in learners.values():
        start_steps(learner.model, settings.seed, total_steps(len(training), settings))
    progress = (keeper.restore(learners) if keeper else None) or TrainingState()
    keeper = keeper or InMemory()
    while progress.epoch < settings.epochs and not progress.stopped:
        for learner in learners.values():
            learner.set_rate(settings.rate(progress.epoch))
        report = _epoch(coordinator, training, settings, progress.epoch, on_step)
        progress.epoch += 1
        if not math.isfinite(report.loss):
            raise PriveeError(
                f"the training came apart in epoch {progress.epoch}: its loss is no number any more; a learning rate "
                f"below {settings.learning_rate:g} may help"
            )
        best = _judge(coordinator, validation, settings, progress, report, keeper)
        keeper.save(progress, learners, best=best)
    if settings.patience is not None:
        keeper.restore_best(learners)
    return progress


def total_steps(rows: int, settings: TrainingSettings) -> int:
    """How many steps a training on so many rows has, if it is not stopped early."""
    return settings.epochs * -(-rows // settings.batch_size)


def split_validation(rows: Tensor, settings: TrainingSettings) -> tuple[Tensor, Tensor]:
    """Training and validation rows; the latter only if early stopping needs them."""
    if settings.patience is None:
        return rows, rows[:0]
    (shuffled,) = batches(rows, len(rows), settings.seed, -1)
    held = max(1, round(len(rows) * settings.validation_share))
    if held >= len(rows):
        raise SettingError(f"{len(rows)} rows are too few to keep some for validation")
    return shuffled[held:], shuffled[:held]


def _epoch(coordinator: Coordinator, rows: Tensor, settings: TrainingSettings, epoch: int, on_step: OnStep) -> Report:
    parts = batches(rows, settings.batch_size, settings.seed, epoch)
    steps = pipelined_epoch(coordinator, parts) if settings.pipeline else coordinator.train_epoch(parts)
    for step, report in enumerate(steps, start=1):
        if report is not None:
            return report
        on_step(epoch + 1, settings.epochs, step, len(parts))
    raise SettingError("there are no rows to train on")


def _judge(
    coordinator: Coordinator,
    validation: Tensor,
    settings: TrainingSettings,
    progress: TrainingState,
    report: Report,
    keeper: Keeper,
) -> bool:
    """Log the epoch and decide whether to stop; True if it was the best so far."""
    record = {"epoch": progress.epoch, "loss": report.loss, "accuracy": report.accuracy}
    if settings.patience is None:
        keeper.log(record)
        return False
    held = coordinator.evaluate(validation)
    keeper.log(record | {"validation_loss": held.loss, "validation_accuracy": held.accuracy})
    best = held.loss < progress.best_loss
    if best:
        progress.best_loss, progress.best_epoch = held.loss, progress.epoch
    progress.stopped = progress.epoch - progress.best_epoch >= settings.patience
    return best


class InMemory:
    """Keeps nothing but the best weights; for training without a run folder."""

    def __init__(self) -> None:
        self._best: dict[str, dict[str, Tensor]] = {}

    def save(self, progress: TrainingState, learners: dict[str, Learner], *, best: bool) -> None:
        """Remember the weights of the best epoch."""
        if best:
            self._best = {name: {k: t.clone() for k, t in x.weights().items()} for name, x in learners.items()}

    def restore(self, learners: dict[str, Learner]) -> TrainingState | None:
        """There is never anything to restore."""
        return None

    def restore_best(self, learners: dict[str, Learner]) -> None:
        """Put the remembered weights back."""
        for name, weights in self._best.items():
            learners[name].load_weights(weights, name)

    def log(self, record: dict[str, Any]) -> None:
        """Forget the record: nothing is kept of it."""


def all_rows(count: int) -> Tensor:
    """Row numbers 0 to count - 1."""
    return torch.arange(count)


PAPER: dict[str, dict[str, Any]] = {
    "mnist": {"model": "mlp", "epochs": 60, "batch_size": 128, "learning_rate": 5e-5},
    "drive": {"model": "mlp", "epochs": 450, "batch_size": 128, "learning_rate": 1e-4},
    "adult": {"model": "mlp", "epochs": 100, "batch_size": 128, "learning_rate": 1e-4},
    "cifar10": {"model": "resnet", "epochs": 30, "batch_size": 128, "learning_rate": 2.085e-4},
    "cifar100": {"model": "resnet", "epochs": 10, "batch_size": 512, "learning_rate": 0.01},
}


def paper_settings(dataset: str) -> dict[str, Any]:
    """Model and training settings the paper used for a dataset."""
    if dataset not in PAPER:
        raise SettingError(f"the paper has no settings for {dataset}; it has them for {', '.join(PAPER)}")
    return dict(PAPER[dataset])
