"""What the active party could do without the others: a model of its own columns alone, measured on the same records.

Two kinds are tried, logistic regression and boosted trees; what does better on training records held out counts. The
effort is bounded, to some ten seconds on one core: wide or large data is learned from fewer records, and the result
says from how many. So it says at least what the own columns are worth.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.randomness import seeded
from privee.scores import Utility, utility_of

HELD_OUT = 0.25
MOST_HELD_OUT = 5000
MOST_RECORDS = 40_000
FEWEST_RECORDS = 1000
LINEAR_WORK = 4e9
"""Records x columns x classes x steps of a logistic regression: some three seconds."""
TREE_WORK = 3e8
"""Records x columns x trees: some three seconds."""
TREES = 200
STEPS, FEWEST_STEPS = 100, 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnColumnsUtility(Utility):
    """The utility of the better model of the active party's columns alone.

    Attributes:
        model: which kind that is.
        trained_on: how many records it has learned from.
    """

    model: str
    trained_on: int


def own_columns_utility(
    columns: NDArray[Any], labels: NDArray[Any], *, train: NDArray[Any], test: NDArray[Any], n_classes: int
) -> OwnColumnsUtility:
    """Learn from training rows of one party's columns, and measure on test rows.

    Args:
        columns: (n, ...) numbers, as they are for the joint model.
        labels: class numbers, one per row.
        train: rows to learn from.
        test: rows to measure on.
        n_classes: of the joint model, of which the training rows need not hold all.
    """
    flat = np.asarray(columns).reshape(len(columns), -1)
    mixed = np.asarray(train)[np.argsort(seeded(0, "own columns").uniform(len(train)), kind="stable")]
    held = mixed[: min(MOST_HELD_OUT, round(HELD_OUT * len(mixed)))]

    def measured(kind: _Kind, rows: NDArray[Any], on: NDArray[Any]) -> Utility:
        return utility_of(kind.scores(flat[rows], labels[rows], flat[on], n_classes), labels[on])

    with _one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a regression that has not converged is one of bounded effort
        kinds = _kinds(flat.shape[1], n_classes)
        best = max(kinds, key=lambda kind: _worth(measured(kind, mixed[len(held) :][: kind.records], held)))
        rows = mixed[: best.records]
        found = measured(best, rows, np.asarray(test))
    return OwnColumnsUtility(**found.as_dict(), model=best.name, trained_on=len(rows))


@dataclasses.dataclass(frozen=True)
class _Kind:
    name: str
    records: int
    make: Callable[[int], Any]

    def scores(
        self, columns: NDArray[Any], labels: NDArray[Any], new: NDArray[Any], n_classes: int
    ) -> NDArray[np.float64]:
        """Scores of new rows, by a model that has learned from the others."""
        scores = np.zeros((len(new), n_classes))
        present = np.unique(labels)
        if len(present) == 1:
            scores[:, present] = 1.0
        elif len(new):
            model = self.make(len(columns)).fit(columns, labels)
            scores[:, model.classes_] = model.predict_proba(new)
        return scores


def _kinds(width: int, n_classes: int) -> list[_Kind]:
    """The kinds that can be afforded, and from how many records they learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    trees_per_step = 1 if n_classes == 2 else n_classes
    linear_cost, tree_cost = width * n_classes, width * trees_per_step

    def linear(records: int) -> Any:
        return LogisticRegression(max_iter=_steps(LINEAR_WORK / (linear_cost * records)))

    def trees(records: int) -> Any:
        return HistGradientBoostingClassifier(
            max_iter=_steps(min(TREE_WORK / (tree_cost * records), TREES / trees_per_step)),
            learning_rate=0.2,
            max_leaf_nodes=8,
            max_bins=63,
            early_stopping=False,
            random_state=0,
        )

    most = max(FEWEST_RECORDS, int(LINEAR_WORK / (linear_cost * STEPS)))
    regression = _Kind("logistic regression", min(MOST_RECORDS, most), linear)
    most = int(TREE_WORK / (tree_cost * FEWEST_STEPS))
    return [regression] + [_Kind("boosted trees", min(MOST_RECORDS, most), trees)] * (most >= FEWEST_RECORDS)


def _steps(affordable: float) -> int:
    return int(np.clip(affordable, FEWEST_STEPS, STEPS))


def _worth(found: Utility) -> float:
    return next((value for value in (found.auc, found.accuracy) if value is not None), 0.0)


def _one_thread() -> Any:
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
