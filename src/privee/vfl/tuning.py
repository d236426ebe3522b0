"""Search for learning rate and batch size, over the paper's ranges, with Optuna's TPE; resumable."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import torch

from privee.errors import PriveeError
from privee.vfl.joint_data import JointData
from privee.vfl.joint_model import JointModel, make_models
from privee.vfl.threads import threads_for, torch_threads
from privee.vfl.training import TrainingSettings, split_validation, train

LEARNING_RATE = (1e-5, 1e-1)
BATCH_SIZES = (32, 64, 128, 256, 512, 1024, 2048)


@dataclasses.dataclass(frozen=True)
class BestTrial:
    """The best trial so far."""

    trials: int
    loss: float
    accuracy: float
    learning_rate: float
    batch_size: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def tune(
    data: JointData,
    model: str,
    settings: TrainingSettings,
    *,
    study_file: Path,
    trials: int,
    threads: int | None = None,
    on_trial: Callable[[int, int], None] = lambda done, size: None,
) -> BestTrial:
    """Run trials until the study holds `trials` finished ones; a study file from before is gone on with.

    The objective is the loss on training rows that the trial does not train on: where one class is rare, accuracy is
    that of naming the other one always, whatever the model is worth.

    Args:
        data: what to train on; its test rows are not used.
        model: name of the architecture.
        settings: what all trials have in common; needs a `patience`, for which rows are held out.
        study_file: where the trials are kept.
        trials: how many there shall be.
        threads: of torch; chosen by the size of the model and the batch unless given.
        on_trial: told how many there are.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    common = {key: value for key, value in settings.as_dict().items() if key not in ("learning_rate", "batch_size")}
    study = _study(study_file, f"loss of {model} {dict(data.about)!r} {common!r}", settings.seed)
    done = _finished(study)
    on_trial(done, trials)
    for number in range(done, trials):
        study.optimize(lambda trial: _loss(trial, data, model, settings, threads), n_trials=1)
        on_trial(number + 1, trials)
    best = study.best_trial
    return BestTrial(
        trials=_finished(study),
        loss=float(best.value or 0.0),
        accuracy=float(best.user_attrs["accuracy"]),
        learning_rate=best.params["learning_rate"],
        batch_size=best.params["batch_size"],
    )


def _study(file: Path, about: str, seed: int) -> optuna.Study:
    """Open or make the study; refuse a file made for something else, because its trials would not compare."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        storage = JournalStorage(JournalFileBackend(str(file)))
        study = optuna.create_study(study_name="privee", storage=storage, direction="minimize", load_if_exists=True)
    except Exception:  # whatever a damaged journal raises
        raise PriveeError(f"{file} is not a readable study file; move it away or choose another") from None
    if study.user_attrs.get("about", about) != about:
        raise PriveeError(f"{file} holds a study of other data or settings; choose another file")
    study.set_user_attr("about", about)
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))
    return study


def _finished(study: optuna.Study) -> int:
    return len(study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,)))


def _loss(trial: optuna.Trial, data: JointData, model: str, common: TrainingSettings, threads: int | None) -> float:
    settings = dataclasses.replace(
        common,
        batch_size=trial.suggest_categorical("batch_size", BATCH_SIZES),
        learning_rate=trial.suggest_float("learning_rate", *LEARNING_RATE, log=True),
    )
    bottoms, top = make_models(model, data.shapes, len(data.class_names), settings.seed)
    joint = JointModel(data.columns, data.labels, bottoms, top)
    rows = torch.from_numpy(data.train)
    with torch_threads(threads_for(joint, settings.batch_size) if threads is None else threads):
        joint.prepare(rows, scaling=settings.scaling, class_weights=settings.class_weights)
        train(joint.coordinator, joint.learners, rows, settings)
        _, held = split_validation(rows, settings)
        found = joint.coordinator.evaluate(held)
    trial.set_user_attr("accuracy", found.accuracy)
    return found.loss
