"""Boosted trees: each private column from release, own columns and rank, whatever shape the dependence has.

Examples' guesses by own columns are among the inputs, each made from other examples (`regressors.cross_fitted`).
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from privee.attacks.column_learning import Array, ColumnAttack, Learner
from privee.attacks.registry import register
from privee.errors import PriveeError
from privee.extras import needed

FEWEST = 5
"""A value of a category is learned if so many examples have it."""


ENOUGH = 2000
"""From so many examples on, some are kept to see when to stop."""

TREES, PATIENCE = 100, 6

GROWING: dict[str, Any] = {
    "num_leaves": 15,
    "max_bin": 31,  # of an input; 63 take longer and tell no more
    "min_data_in_bin": 1,
    "lambda_l2": 1.0,
    "extra_trees": True,  # one threshold of each input is tried, drawn at random: quicker, and it tells more
    "num_threads": 1,  # the grid is what runs in parallel
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class BoostedTrees(ColumnAttack):
    """Gradient boosting (LightGBM's), a regression for a number and a classification for a category.

    Args:
        simulations: how often each auxiliary row is simulated; less often where there are thousands.
        own_columns: False leaves them out, to see what the release gives away by itself.
    """

    name: ClassVar[str] = "boosted-trees"
    place: ClassVar[int] = 44
    summary: ClassVar[str] = "gradient boosting on simulated releases, column by column"
    slow: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ("boosted-trees", "boosted-trees:own_columns=false")

    simulations: int = 4
    own_columns: bool = True

    @property
    def learner(self) -> Learner:
        """Boosted trees."""
        return Trees()


def learn_by_trees(inputs: Array, outputs: Array, new: Array, seed: int) -> Array:
    """Estimates for new rows; of a category, the probabilities of its values."""
    return Trees()(inputs, outputs, new, seed)


class Trees:
    """A `Learner` that sorts inputs into bins once, as long as it is given the same ones for each column."""

    def __init__(self) -> None:
        self._binned: _Binned | None = None

    def __call__(self, inputs: Array, outputs: Array, new: Array, seed: int) -> Array:
        """Estimates for new rows; of a category, the probabilities of its values."""
        if outputs.shape[1] == 1 and len(np.unique(outputs)) > 2:
            grown = self.grown(inputs, outputs[:, 0], {"objective": "regression", "seed": seed})
            return np.asarray(grown.predict(new, num_threads=1))[:, None]
        return by_probability(lambda: _Classifier(self, seed), inputs, outputs, new)

    def grown(self, inputs: Array, outputs: np.ndarray, settings: dict[str, Any]) -> Any:
        """A booster; where there are examples enough, it stops when those kept aside say so."""
        if self._binned is None or self._binned.inputs is not inputs:
            self._binned = _Binned(inputs)
        return self._binned.grown(outputs, settings)


class _Binned:
    """Examples whose inputs are in bins; which output they are examples of is said last."""

    def __init__(self, inputs: Array) -> None:
        lightgbm = _lightgbm()
        self.inputs = inputs
        self._settings = {**GROWING, "min_data_in_leaf": int(np.clip(len(inputs) // 50, 2, 20))}
        kept = np.random.default_rng(0).random(len(inputs)) < (0.1 if len(inputs) >= ENOUGH else 0.0)
        self._kept, made = kept, {"params": self._settings, "free_raw_data": False}
        self._examples = lightgbm.Dataset(inputs[~kept] if kept.any() else inputs, **made).construct()
        self._tested = self._examples.create_valid(inputs[kept], params=self._settings) if kept.any() else None

    def grown(self, outputs: np.ndarray, settings: dict[str, Any]) -> Any:
        lightgbm, told = _lightgbm(), {**self._settings, **settings}
        self._examples.set_label(outputs[~self._kept])
        if self._tested is None:
            return lightgbm.train(told, self._examples, TREES, keep_training_booster=True)
        self._tested.set_label(outputs[self._kept])
        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        sets = {"valid_sets": [self._tested], "callbacks": [stop], "keep_training_booster": True}
        return lightgbm.train(told, self._examples, TREES, **sets)


class _Classifier:
    def __init__(self, trees: Trees, seed: int) -> None:
        self._learner, self._seed = trees, seed

    def fit(self, inputs: Array, codes: np.ndarray) -> _Classifier:
        self.classes_, numbers = np.unique(codes, return_inverse=True)
        many = {"objective": "multiclass", "num_class": len(self.classes_)}
        kind = many if len(self.classes_) > 2 else {"objective": "binary"}
        self._trees = self._learner.grown(inputs, numbers, {**kind, "seed": self._seed})
        return self

    def predict_proba(self, new: Array) -> Array:
        told = np.asarray(self._trees.predict(new, num_threads=1))
        return told if told.ndim == 2 else np.column_stack([1 - told, told])


def _lightgbm() -> Any:
    """PyTorch is loaded before it, and brings the OpenMP library that LightGBM leaves to the machine."""
    try:
        return needed("lightgbm", "lightgbm", extra="audit", what="boosted-trees")
    except OSError:
        raise PriveeError("LightGBM does not load: it needs OpenMP (libgomp1 on Debian, libomp on macOS)") from None


def by_probability(make: Any, inputs: Array, outputs: Array, new: Array) -> Array:
    """A classifier's probabilities, put where the features are; values that are too rare to learn count as one."""
    codes = codes_of(outputs)
    kept, counts = np.unique(codes, return_counts=True)
    rare = kept[counts < FEWEST]
    merged = np.where(np.isin(codes, rare), -1, codes)
    found = np.tile(outputs.mean(axis=0), (len(new), 1))
    if len(np.unique(merged)) < 2 or (outputs.shape[1] == 1 and len(rare)):
        return found
    if 0 < (merged == -1).sum() < FEWEST:  # of all rare values together there are too few to learn as well
        inputs, merged = inputs[merged != -1], merged[merged != -1]
    if len(np.unique(merged)) < 2:
        return found
    fitted = make().fit(inputs, merged)
    told = fitted.predict_proba(new)
    if outputs.shape[1] == 1:
        low, high = outputs.min(), outputs.max()
        return np.asarray(low + (high - low) * told[:, list(fitted.classes_).index(1), None])
    for code, column in zip(fitted.classes_, told.T, strict=True):
        if 0 <= code < outputs.shape[1]:
            found[:, code] = column
    return found


def codes_of(outputs: Array) -> np.ndarray:
    """One number per row: which value it has (one past the last for none of them), or 0 and 1 of a yes/no column."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > (outputs.min() + outputs.max()) / 2).astype(np.int64)
    return np.where(outputs.sum(axis=1) > 0.5, outputs.argmax(axis=1), outputs.shape[1])
