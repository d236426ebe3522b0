"""XGBoost and LightGBM models as they are trained and saved natively."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from privee.errors import SettingError
from privee.extras import needed
from privee.scorers.rows import scores_of_outputs
from privee.scores.forms import Floats

XGBOOST = ("binary:logistic", "multi:softprob", "reg:logistic")
LIGHTGBM = ("binary", "multiclass", "cross_entropy")
"""Objectives whose predictions are probabilities."""


def booster_scores(booster: Any) -> Callable[[Any], Floats]:
    """A function from rows (arrays, frames, or an `xgboost.DMatrix`) to the booster's scores."""
    for library, kind in KINDS.items():
        module = sys.modules.get(library)  # whoever holds a booster has imported its library
        if module is not None and isinstance(booster, module.Booster):
            return kind(booster)
    raise SettingError("expected an xgboost.Booster or a lightgbm.Booster; privee.adapters.sklearn takes classifiers")


def xgboost_learns(booster: Any) -> tuple[str, int]:
    """Its objective, and the number of its classes: 0 unless there are more than two."""
    learner = json.loads(booster.save_config())["learner"]
    return learner["learner_train_param"]["objective"], int(learner["learner_model_param"]["num_class"])


def lightgbm_learns(booster: Any) -> str:
    """Its objective, which only its text tells."""
    lines = booster.model_to_string(num_iteration=1).splitlines()
    line: str = next((line for line in lines if line.startswith("objective=")), "")
    return line.removeprefix("objective=").partition(" ")[0]


def no_classes(library: str, objective: str, known: tuple[str, ...]) -> SettingError:
    """What is said of a regression, a ranking, or a model that predicts classes and no scores."""
    learned = objective or "no objective"
    return SettingError(f"{library} model of {learned} gives no scores of classes: train it with {' or '.join(known)}")


class XgboostScores:
    """By `Booster.predict`, with objectives that make probabilities."""

    def __init__(self, booster: Any) -> None:
        objective, self._classes = xgboost_learns(booster)
        if objective not in XGBOOST:
            raise no_classes("an XGBoost", objective, XGBOOST)
        self._booster = booster

    def __call__(self, rows: Any) -> Floats:
        matrix = needed("xgboost", "xgboost", extra="xgboost").DMatrix
        data = rows if isinstance(rows, matrix) else matrix(rows, enable_categorical=True)
        return _scores(self._booster.predict(data), self._classes)


class LightgbmScores:
    """By `Booster.predict`, with objectives that make probabilities; `settings` go to it."""

    def __init__(self, booster: Any, **settings: Any) -> None:
        if (objective := lightgbm_learns(booster)) not in LIGHTGBM:
            raise no_classes("a LightGBM", objective, LIGHTGBM)
        self._booster, self._settings = booster, settings

    def __call__(self, rows: Any) -> Floats:
        found = self._booster.predict(rows, **self._settings)
        return _scores(found, self._booster.num_model_per_iteration())


def _scores(found: Any, classes: int) -> Floats:
    """Of more than two classes a row each; of no rows the libraries give (0,)."""
    values = np.asarray(found)
    return scores_of_outputs(values.reshape(-1, classes) if classes > 1 else values)


KINDS: dict[str, Callable[[Any], Callable[[Any], Floats]]] = {"xgboost": XgboostScores, "lightgbm": LightgbmScores}
