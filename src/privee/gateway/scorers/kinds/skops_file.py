"""A scikit-learn classifier or pipeline in a skops file, if all types in it are ones that skops trusts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError, SettingError
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
        columns = self.names or tuple(map(str, range(self.features or 0)))
        self._takes_text = any(True for _ in _text_columns(model, columns))
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
        if self._takes_text:
            self._check_texts(rows.table())
        given = rows.table().to_pandas() if self.names is not None else rows.numbers
        with self._limits.limit(limits=1):  # threads of a library that was forked may wait for ever
            return np.asarray(self._model.predict_proba(given))

    def _check_texts(self, table: Any) -> None:
        """A number where the model knows texts is a code that lost its type; some pipelines score it, as an unknown."""
        columns = zip(table.column_names, table.columns, strict=True)
        numbers = {name for name, column in columns if column.type == "double" and column.null_count < len(column)}
        if wrong := [name for name in _text_columns(self._model, table.column_names) if name in numbers]:
            raise PriveeError(
                f"the model was fitted on text in {', '.join(wrong)}, and the rows hold numbers there: digits in a CSV "
                "file are numbers, so give --rows as Parquet or a database, where such codes are text"
            )


def _text_columns(part: Any, names: Sequence[str]) -> Iterator[str]:
    """The columns of which an encoder in a pipeline knows texts alone; `names` are those that the part is given."""
    own = tuple(map(str, getattr(part, "feature_names_in_", names)))
    known = getattr(part, "categories_", None)
    if known is not None and len(known) == len(own):
        yield from (name for name, values in zip(own, known, strict=True) if any(isinstance(v, str) for v in values))
    for _, step in getattr(part, "steps", ()):
        yield from _text_columns(step, own)
    for _, step, _ in getattr(part, "transformers_", ()):
        yield from _text_columns(step, own)
