"""scikit-learn: a classifier whose probabilities are releases."""

from __future__ import annotations

from typing import Any, Self

from privee.extras import require

require("privee.adapters.sklearn", "sklearn", extra="sklearn")

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from privee.adapters._given import given_defense
from privee.defenses import Defense, Repeatable, new_key
from privee.defenses.repeatable_messages import messages
from privee.errors import SettingError
from privee.randomness import seeded
from privee.scores import check_scores

__all__ = ["ProtectedClassifier", "protect_fitted"]

SEEDED, KEYED = "seeded", "keyed"
"""What stands for the version of the model in repeatable draws: two kinds of keys never give the same ones."""
STEP = {np.dtype(np.float64): 2.0**33, np.dtype(np.float32): 2.0**16}
"""How finely scores are told apart there: a row scored in a larger batch may differ from itself in its last bits."""


class ProtectedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with a defense: `predict_proba` gives releases, `predict` what the estimator predicts.

    Draws are fresh and secure in every call unless one of the last two settings is used. Margins
    (`decision_function`) and log-probabilities are not passed on. `estimator_` holds the bare model: hand out answers,
    not the object.

    Args:
        estimator: a classifier with `predict_proba`, or a pipeline that ends in one.
        defense: a defense, or a spec such as "ordered-dp:epsilon=4".
        repeatable: the same row gets the same release again, so that asking twice teaches nothing. The secret key for
            that is made by `fit`, or given to `use_key`; it is no setting, and in neither pickles nor clones.
        random_state: for experiments only: the same with draws that anyone can make again.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = load_iris(return_X_y=True)
        >>> model = ProtectedClassifier(LogisticRegression(max_iter=500), "ordered-dp:epsilon=4").fit(X, y)
        >>> bool((model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all())
        True
    """

    def __init__(
        self, estimator: Any, defense: Defense | str, *, repeatable: bool = False, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.defense = defense
        self.repeatable = repeatable
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:  # noqa: N803 (scikit-learn's name)
        """Fit a clone of the estimator; `fit_params` go to it."""
        given_defense(self.defense)
        classes = y if y is None else column_or_1d(y, warn=True)  # None is the estimator's to refuse
        return self._around(clone(self.estimator).fit(X, classes, **fit_params))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The classes, as the estimator itself predicts them."""
        check_is_fitted(self)
        found: NDArray[Any] = self.estimator_.predict(X)
        return found

    def predict_proba(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Releases in place of the probabilities, in the order of `classes_`."""
        check_is_fitted(self)
        scores = np.asarray(self.estimator_.predict_proba(X))
        defense, keyed = given_defense(self.defense), self._keyed()
        if keyed is None:
            return defense.release(scores)
        rows = check_scores(scores)
        step = STEP[rows.dtype]
        return keyed._released(rows, messages(np.rint(rows * step) / step, _names(X), None, one_vector=False))

    def use_key(self, key: bytes) -> Self:
        """Draw by this secret key from now on (`repeatable=True`), such as that of another process or of last week."""
        if not self.repeatable:
            raise SettingError("a key is for repeatable draws: make the classifier with repeatable=True")
        self._repeatable = Repeatable(given_defense(self.defense), key=key, model_version=KEYED)
        return self

    def _around(self, fitted: Any) -> Self:
        """With this fitted estimator inside, and a new key if one is needed."""
        if not hasattr(fitted, "predict_proba"):
            raise SettingError(f"{type(fitted).__name__} has no predict_proba, so there are no scores to protect")
        if isinstance(fitted.classes_, list):
            raise SettingError("the estimator has several outputs; protect a classifier of one")
        self.estimator_, self.classes_ = fitted, fitted.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        self.__dict__.pop("_repeatable", None)
        return self.use_key(new_key()) if self.repeatable and self.random_state is None else self

    def _keyed(self) -> Repeatable | None:
        """What draws are keyed by; None if they are fresh."""
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            key = seeded(seed, "scikit-learn").words(4).tobytes()
            return Repeatable(given_defense(self.defense), key=key, model_version=SEEDED)
        if not self.repeatable:
            return None
        held = self.__dict__.get("_repeatable")
        if held is None:
            raise SettingError("the key for repeatable draws is not pickled: give it again with use_key(key)")
        if held.defense != given_defense(self.defense):
            raise SettingError("the defense was changed since fit: give the key again with use_key(key)")
        found: Repeatable = held
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Without the key."""
        return {name: value for name, value in super().__getstate__().items() if name != "_repeatable"}

    def __sklearn_tags__(self) -> Any:
        """Those of a classifier that takes what the estimator takes; fresh draws differ from call to call."""
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = False
        tags.no_validation = inner.no_validation
        tags.non_deterministic = inner.non_deterministic or (self.random_state is None and not self.repeatable)
        return tags


def protect_fitted(estimator: Any, defense: Defense | str, **settings: Any) -> ProtectedClassifier:
    """A `ProtectedClassifier` around an estimator that is fitted already: nothing is fitted again, or copied."""
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError) as error:
        raise SettingError(f"the estimator is not fitted: {error}") from None
    given_defense(defense)
    return ProtectedClassifier(estimator, defense, **settings)._around(estimator)


def _names(rows: Any) -> list[bytes]:
    """What tells rows apart, as bytes: their numbers, or their text where they are not all numbers."""
    values = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    if values.dtype.kind in "fiub":
        return [row.tobytes() for row in values.astype("<f8") + 0.0]
    return [repr(row.tolist()).encode("utf-8", "surrogatepass") for row in values]
