"""XGBoost and LightGBM models as they are trained and saved natively."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from privee.errors import SettingError
from privee.extras import needed
from privee.scorers.rows import scores_of_outputs
from privee.scores.forms import Floats


def booster_scores(booster: Any) -> Callable[[Any], Floats]:
    """A function from rows (arrays, frames, or an `xgboost.DMatrix`) to the booster's scores."""
    for library, kind in KINDS.items():
        module = sys.modules.get(library)  # whoever holds a booster has imported its library
        if module is not None and isinstance(booster, module.Booster):
            return kind(booster)
    raise SettingError("expected an xgboost.Booster or a lightgbm.Booster; privee.adapters.sklearn takes classifiers")


class XgboostScores:
    """By `Booster.predict`, with the objectives `binary:logistic` and `multi:softprob`."""

    def __init__(self, booster: Any) -> None:
        self._booster = booster

    def __call__(self, rows: Any) -> Floats:
        matrix = needed("xgboost", "xgboost", extra="xgboost").DMatrix
        data = rows if isinstance(rows, matrix) else matrix(rows, enable_categorical=True)
        return scores_of_outputs(self._booster.predict(data))


class LightgbmScores:
    """By `Booster.predict`, with the objectives `binary` and `multiclass`."""

    def __init__(self, booster: Any) -> None:
        self._booster = booster

    def __call__(self, rows: Any) -> Floats:
        return scores_of_outputs(self._booster.predict(rows))


KINDS: dict[str, Callable[[Any], Callable[[Any], Floats]]] = {"xgboost": XgboostScores, "lightgbm": LightgbmScores}
