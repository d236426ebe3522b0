"""Logistic regression: each private category from release, own columns and rank; numbers by ridge regression."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from privee.attacks.boosted_trees import by_probability
from privee.attacks.column_learning import Array, ColumnAttack, Learner
from privee.attacks.registry import register

RIDGES = (0.1, 1.0, 10.0, 100.0, 1000.0)


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class LogisticRegression(ColumnAttack):
    """What a linear model tells about each column by itself; better than trees where there are few auxiliary rows.

    Args:
        simulations: how often each auxiliary row is simulated; less often where there are thousands.
        own_columns: False leaves them out, to see what the release gives away by itself.
    """

    name: ClassVar[str] = "logistic-regression"
    place: ClassVar[int] = 46
    summary: ClassVar[str] = "logistic and ridge regression on simulated releases, column by column"
    audited: ClassVar[tuple[str, ...]] = ("logistic-regression",)

    simulations: int = 4
    own_columns: bool = True

    @property
    def learner(self) -> Learner:
        """Linear models."""
        return learn_linearly


def learn_linearly(inputs: Array, outputs: Array, new: Array, seed: int) -> Array:
    """Estimates for new rows; of a category, the probabilities of its values."""
    from sklearn.linear_model import LogisticRegression as Logistic

    middle, spread = inputs.mean(axis=0), inputs.std(axis=0)
    given, asked = ((values - middle) / np.where(spread > 0, spread, 1.0) for values in (inputs, new))
    if outputs.shape[1] == 1 and len(np.unique(outputs)) > 2:
        return _ridge(given, outputs[:, 0], asked)[:, None]
    return by_probability(lambda: Logistic(C=1.0, max_iter=200, tol=1e-3, random_state=seed), given, outputs, asked)


def _ridge(given: Array, outputs: Array, asked: Array) -> Array:
    """Predictions with the ridge that has the smallest leave-one-out error, for inputs whose means are 0.

    What scikit-learn's RidgeCV finds, by way of the products of columns: many examples have few of them.
    """
    level = outputs.mean()
    values, turn = np.linalg.eigh(given.T @ given)
    turned, values = given @ turn, values.clip(0.0)
    off, inside = outputs - level, turned.T @ (outputs - level)
    squares, least, best = np.square(turned), np.inf, inside
    for ridge in RIDGES:
        slopes = inside / (values + ridge)
        free = 1 - 1 / len(off) - squares @ (1 / (values + ridge))
        error = np.square((off - turned @ slopes) / free.clip(1e-6)).mean()
        if error < least:
            least, best = error, slopes
    return np.asarray(level + asked @ (turn @ best))
