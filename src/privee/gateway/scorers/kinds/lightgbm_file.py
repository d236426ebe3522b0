"""A LightGBM classifier in the library's own text format."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from privee.errors import SettingError
from privee.extras import needed
from privee.gateway.scorers.base import Scorer, read_model, register
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from privee.scorers.boosters import LightgbmScores

UNNAMED = "Column_"
"""What LightGBM calls the columns of data that had no names."""


@register
class LightgbmFile(Scorer):
    """A booster."""

    name: ClassVar[str] = "lightgbm"
    words: ClassVar[str] = "a LightGBM model"
    suffixes: ClassVar[tuple[str, ...]] = (".txt",)
    by_blocks: ClassVar[bool] = False  # trees look at one row

    def __init__(self, booster: Any, version: str) -> None:
        self._scores, self.version = LightgbmScores(booster, num_threads=1), version
        self.classes = tuple(map(str, range(max(2, booster.num_model_per_iteration()))))
        self.features = booster.num_feature()
        named = tuple(booster.feature_name())
        self.names = None if named == tuple(f"{UNNAMED}{place}" for place in range(len(named))) else named

    @classmethod
    def open(cls, settings: ScorerSettings, seconds: float) -> Self:
        """Read it."""
        library = needed("lightgbm", "lightgbm", extra="lightgbm", what="a LightGBM model")
        content, version = read_model(settings.given)
        try:
            text = content.decode()
            if not text.startswith("tree\n"):
                raise ValueError("no model")
            booster = library.Booster(model_str=text)
        except Exception as error:
            raise SettingError(f"{settings.given} is no LightGBM model ({type(error).__name__})") from None
        return cls(booster, version)

    def outputs(self, rows: Rows) -> NDArray[Any]:
        """Its probabilities."""
        return self._scores(rows.numbers)
