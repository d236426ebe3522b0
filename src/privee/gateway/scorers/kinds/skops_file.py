"""A scikit-learn classifier or pipeline in a skops file, if all types in it are ones that skops trusts."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privee.errors import SettingError
from privee.extras import needed
from privee.gateway.scorers.base import Scorer, read_model, register
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings

HARMLESS = ("numpy.dtype",)
"""Trusted beside what skops trusts: a number's type, kept as an empty array. Whatever fills gaps remembers one."""


@register
class SkopsFile(Scorer):
    """A fitted estimator with `predict_proba`."""

    name: ClassVar[str] = "skops"
    words: ClassVar[str] = "a scikit-learn model"
    suffixes: ClassVar[tuple[str, ...]] = (".skops",)

    def __init__(self, model: Any, version: str) -> None:
        self._model, self.version = model, version
        self.classes = tuple(map(str, model.classes_))
        named = getattr(model, "feature_names_in_", None)
        self.names = None if named is None else tuple(map(str, named))
        self.features = getattr(model, "n_features_in_", None)
        self._limits = needed("threadpoolctl", "threadpoolctl", extra="skops").ThreadpoolController()

    @classmethod
    def open(cls, settings: ScorerSettings, seconds: float) -> Self:
        """Read it; beside types of numbers none is trusted that skops does not trust by itself."""
        skops = needed("skops.io", "skops", extra="skops", what="a skops file")
        content, version = read_model(settings.given)
        try:
            untrusted = [kind for kind in skops.get_untrusted_types(data=content) if kind not in HARMLESS]
            model = None if untrusted else skops.loads(content, trusted=list(HARMLESS))
        except Exception as error:
            raise SettingError(f"{settings.given} is no skops file that can be read ({type(error).__name__})") from None
        if untrusted:
            more = f" and {len(untrusted) - 1} more" if len(untrusted) > 1 else ""
            raise SettingError(
                f"{settings.given} holds {untrusted[0]}{more}, which skops does not trust, so it is not read: serve it "
                "as module:function, or save it as ONNX"
            )
        if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
            raise SettingError(f"{settings.given} holds no fitted classifier with predict_proba")
        return cls(model, version)

    def outputs(self, rows: Rows) -> NDArray[Any]:
        """Its probabilities; by the columns' names, if it was fitted on a frame."""
        given = rows.table().to_pandas() if self.names is not None else rows.numbers
        with self._limits.limit(limits=1):  # threads of a library that was forked may wait for ever
            return np.asarray(self._model.predict_proba(given))
