"""An XGBoost classifier in the library's own format, JSON or binary JSON."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privee.errors import SettingError
from privee.extras import needed
from privee.gateway.scorers.base import Scorer, read_model, register, softmax
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from privee.scorers.boosters import no_classes, xgboost_learns

BINARY, MANY = ("binary:logistic", "binary:logitraw", "reg:logistic"), ("multi:softprob", "multi:softmax")


@register
class XgboostFile(Scorer):
    """A booster, of whose margins the scores are made in double precision."""

    name: ClassVar[str] = "xgboost"
    words: ClassVar[str] = "an XGBoost model"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".ubj")
    by_blocks: ClassVar[bool] = False  # trees look at one row

    def __init__(self, booster: Any, version: str, library: Any) -> None:
        self._booster, self.version, self._library = booster, version, library
        objective, count = xgboost_learns(booster)
        if objective not in (*BINARY, *MANY):
            raise no_classes("an XGBoost", objective, (*BINARY, *MANY))
        self._binary = objective in BINARY
        self.classes = tuple(map(str, range(2 if self._binary else count)))
        self.names = None if booster.feature_names is None else tuple(booster.feature_names)
        self.features = booster.num_features()
        self._trees = _best(booster)

    @classmethod
    def open(cls, settings: ScorerSettings, seconds: float) -> Self:
        """Read it."""
        library = needed("xgboost", "xgboost", extra="xgboost", what="an XGBoost model")
        content, version = read_model(settings.given)
        try:
            _check(content)
            booster = library.Booster({"nthread": 1})
            booster.load_model(bytearray(content))
        except Exception as error:
            raise SettingError(f"{settings.given} is no XGBoost model ({type(error).__name__})") from None
        return cls(booster, version, library)

    def outputs(self, rows: Rows) -> NDArray[Any]:
        """Logistic functions of margins, or their softmax."""
        given = self._library.DMatrix(
            rows.numbers, feature_names=None if self.names is None else list(self.names), nthread=1
        )
        found = self._booster.predict(given, output_margin=True, iteration_range=self._trees)
        margins = found.astype(np.float64)
        return softmax(np.column_stack([np.zeros(len(margins)), margins]) if self._binary else margins)


def _best(booster: Any) -> tuple[int, int]:
    """The rounds that count: up to the best where an `XGBClassifier` stopped early, as it predicts itself; else all."""
    best = booster.attr("best_iteration") if booster.attr("scikit_learn") else None
    return (0, 0) if best is None else (0, int(best) + 1)


def _check(content: bytes) -> None:
    """Look before the library does: it ends the whole process over some files that are none of its own."""
    if content[:2] == b"{L":  # binary
        if b"learner" not in content[:64]:
            raise ValueError("no model")
    elif "learner" not in json.loads(content):
        raise ValueError("no model")
