"""Boosted trees: each private column from release, own columns and rank, whatever shape the dependence has."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from privee.attacks.column_learning import Array, ColumnAttack, Learner
from privee.attacks.registry import register

FEWEST = 5
"""A value of a category is learned if so many examples have it."""


ENOUGH = 2000
"""From so many examples on, some are kept to see when to stop."""

BINS = 63
"""Of an input; four times as many take a third longer and tell no more (docs/attacks.md)."""


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class BoostedTrees(ColumnAttack):
    """Gradient boosting (scikit-learn's), a regression for a number and a classification for a category.

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
        return learn_by_trees


def learn_by_trees(inputs: Array, outputs: Array, new: Array, seed: int) -> Array:
    """Estimates for new rows; of a category, the probabilities of its values."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    settings: dict[str, Any] = {
        "max_iter": 100,
        "max_leaf_nodes": 15,
        "max_bins": BINS,
        "min_samples_leaf": int(np.clip(len(inputs) // 50, 2, 20)),
        "l2_regularization": 1.0,
        "early_stopping": len(inputs) >= ENOUGH,
        "n_iter_no_change": 6,
        "random_state": seed,
    }
    if outputs.shape[1] == 1 and len(np.unique(outputs)) > 2:
        return np.asarray(HistGradientBoostingRegressor(**settings).fit(inputs, outputs[:, 0]).predict(new))[:, None]
    return by_probability(lambda: HistGradientBoostingClassifier(**settings), inputs, outputs, new)


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
