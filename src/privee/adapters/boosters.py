"""XGBoost and LightGBM: a booster whose predictions are releases. Their classifiers: `privee.adapters.sklearn`."""

from __future__ import annotations

from typing import Any

from privee.adapters._given import given_defense
from privee.defenses import Defense
from privee.scorers.boosters import booster_scores
from privee.scores.forms import Floats

__all__ = ["ProtectedBooster", "protect_booster"]


class ProtectedBooster:
    """Predicts by a booster and gives releases. Margins, leaves and contributions are not passed on."""

    def __init__(self, booster: Any, defense: Defense) -> None:
        self._scores, self._defense = booster_scores(booster), defense

    def predict(self, rows: Any) -> Floats:
        """Releases, (rows, classes), with fresh secure draws; of two classes a booster has one number, and this both.

        Args:
            rows: an array or a frame, for XGBoost also a DMatrix.
        """
        return self._defense.release(self._scores(rows))


def protect_booster(booster: Any, defense: Defense | str) -> ProtectedBooster:
    """A booster of XGBoost or LightGBM with a defense, an object or a spec such as "ordered-dp:epsilon=4"."""
    return ProtectedBooster(booster, given_defense(defense))
