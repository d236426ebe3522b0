"""Models of other libraries, trained on one joined table: audited by naming the columns that are private.

Attacks work on features; whatever they try is put back into a table with the very types that the model was trained on,
text and all, so a pipeline that encodes is part of the model. A model that turns out to be a logistic one is attacked
with its equations and gradients (`additive.py`), any other by asking it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.attacks.own_model import Outputs
from privee.audit.additive import additive
from privee.audit.sources import subject_from_arrays
from privee.audit.subject import Subject
from privee.audit.table_features import Features, opened
from privee.errors import SettingError
from privee.scorers.boosters import booster_scores
from privee.scorers.onnx import OnnxScores
from privee.scorers.rows import scores_of_outputs
from privee.scores.frames import Label

ScoresOf = Callable[[Any], NDArray[Any]]


def from_sklearn(
    model: Any,
    table: Any,
    private: Sequence[Label],
    *,
    labels: Any = None,
    categories: Sequence[Label] = (),
    name: str = "",
) -> Subject:
    """A fitted classifier or pipeline with `predict_proba`, of scikit-learn or of anyone who follows it.

    Args:
        model: takes tables such as this one; it is asked about rows that nobody has.
        table: rows to try it on, with the columns it was trained on and no others: a pandas, polars or Arrow table, or
            an array. Columns may hold numbers or text, and gaps. Half of the rows at most are attacked, the others are
            what the attacker knows.
        private: names of the columns (numbers, of an array) that the asker does not hold.
        labels: true classes, to see what defenses do to accuracy; a name takes that column out of the table.
        categories: columns of numbers that are codes, not amounts: no number between two codes is tried then.
        name: for tables and reports.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = load_iris(return_X_y=True)
        >>> subject = from_sklearn(LogisticRegression(max_iter=500).fit(X, y), X, private=[2, 3])
        >>> subject.model_name, [column.name for column in subject.private_columns]
        ('logistic', ['2', '3'])
    """
    if not hasattr(model, "predict_proba"):
        raise SettingError(f"{type(model).__name__} has no predict_proba, so there are no scores to audit")
    classes = getattr(model, "classes_", None)
    return _subject(SklearnScores(model), table, private, labels, classes, categories, name or type(model).__name__)


def from_onnx(
    model: Any,
    table: Any,
    private: Sequence[Label],
    *,
    labels: Any = None,
    categories: Sequence[Label] = (),
    name: str = "",
    scores: str | None = None,
    outputs: Outputs = "scores",
) -> Subject:
    """A model of ONNX: the path of a file, its bytes, or an open `onnxruntime.InferenceSession`.

    It takes all columns side by side in one input, or each in an input of its name.

    Args:
        model: the model; what worker processes are to open again must be a file, bytes, or a session that knows them.
        table: rows to try it on, as for `from_sklearn`.
        private: the columns that the asker does not hold.
        labels: true class numbers, or the name of their column.
        categories: columns of numbers that are codes.
        name: for tables and reports.
        scores: the name of the output with the scores, if several could be it.
        outputs: does it hold "scores" or "logits"?
    """
    asked = OnnxScores(model, scores)
    return _subject(
        asked, table, private, labels, None, categories, name or "ONNX model", outputs=outputs, by_name=True
    )


def from_booster(
    model: Any,
    table: Any,
    private: Sequence[Label],
    *,
    labels: Any = None,
    categories: Sequence[Label] = (),
    name: str = "",
) -> Subject:
    """A model of XGBoost or LightGBM: a `Booster`, or their classifiers, which are scikit-learn's kind.

    Args:
        model: the model.
        table: rows to try it on, as for `from_sklearn`.
        private: the columns that the asker does not hold.
        labels: true classes, or the name of their column.
        categories: columns of numbers that are codes.
        name: for tables and reports.
    """
    if hasattr(model, "predict_proba"):
        return from_sklearn(model, table, private, labels=labels, categories=categories, name=name)
    return _subject(booster_scores(model), table, private, labels, None, categories, name or type(model).__name__)


from_xgboost = from_lightgbm = from_booster


class SklearnScores:
    """By `predict_proba`."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, table: Any) -> NDArray[Any]:
        return scores_of_outputs(self._model.predict_proba(table))


class AskedByFeatures:
    """The model as a function of own and private features, by way of tables. It travels to worker processes."""

    def __init__(self, scores_of: ScoresOf, features: Features, *, by_name: bool) -> None:
        self._scores_of, self._features, self._by_name = scores_of, features, by_name

    def at(self, features: NDArray[np.float64]) -> NDArray[Any]:
        """Scores of rows of features, as the model gives them."""
        if self._by_name:
            return self._scores_of({str(k): np.asarray(v) for k, v in self._features.decoded(features).items()})
        return self._scores_of(self._features.table(features))

    def __call__(self, own: Any, unknown: Any) -> NDArray[np.float64]:
        return self.at(np.hstack([np.asarray(own), np.asarray(unknown)])).astype(np.float64)


def _subject(
    scores_of: ScoresOf,
    table: Any,
    private: Sequence[Label],
    labels: Any,
    classes: Any,
    categories: Sequence[Label],
    name: str,
    *,
    outputs: Outputs = "scores",
    by_name: bool = False,
) -> Subject:
    frame = opened(table)
    left_out = [labels] if isinstance(labels, str) else []
    known = [label for label in frame.labels if label not in left_out]
    _check_names((*private, *categories, *left_out), frame.labels)
    own = [label for label in known if label not in set(private)]
    if not own or not private or isinstance(private, str):
        raise SettingError("private must name some of the table's columns, and leave some for whoever asks")
    features = Features(frame, own, list(private), categories)
    asked = AskedByFeatures(scores_of, features, by_name=by_name)
    rows, cut = features.encoded(), features.own_width
    found = additive(asked.at, features) if outputs == "scores" else None
    true = frame.column(labels) if isinstance(labels, str) else labels
    model: Any = asked if found is None else found
    subject = subject_from_arrays(
        model,
        _Named(rows[:, :cut], features.names[:cut]),
        _Named(rows[:, cut:], features.names[cut:]),
        outputs="logits" if found is not None else outputs,
        labels=None if true is None else _numbered(true, classes),
        name=name,
    )
    return subject if found is not None else dataclasses.replace(subject, model_name=name)


class _Named:
    """Features with their names, as `subject_from_arrays` takes them from a data frame."""

    def __init__(self, values: NDArray[np.float64], columns: list[str]) -> None:
        self._values, self.columns = values, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._values, dtype=dtype)


def _check_names(wanted: Sequence[Label], known: Sequence[Label]) -> None:
    for label in wanted:
        if label not in known:
            raise SettingError(f"the table has no column {label!r}; it has {', '.join(map(str, known[:12]))}")


def _numbered(labels: Any, classes: Any) -> NDArray[np.int64]:
    """Class numbers, in the order of the model's classes if it has names for them."""
    values = np.asarray(labels)
    if classes is None:
        return values.astype(np.int64) if values.dtype.kind in "fb" else values
    places = {one: k for k, one in enumerate(np.asarray(classes).tolist())}
    return np.array([places.get(one, -1) for one in values.tolist()], dtype=np.int64)
