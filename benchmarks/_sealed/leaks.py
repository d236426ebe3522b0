"""What a code tells: the error of the best regression of the private columns from code and own columns.

As a share of the same learners' error without the code; 1 means that nothing was learned. Whoever asks without end,
with chosen columns and the coordinator's help, gets no more than the code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge

Array = NDArray[np.float64]
TRAIN, TEST, OUTPUTS = 3000, 2000, 64
RARE = 20
"""A column is told best only if so many records, known and attacked, differ from its commonest value: no chance."""
_guesses: dict[bytes, Array] = {}
"""What can be said without a code is the same for all seals of the same records."""


def left(own: Array, private: Array, told: Array, train: Array, test: Array, seed: int) -> dict[str, float]:
    """Error left over all private columns, and of the column that is told best.

    Args:
        own: the attacker's columns.
        private: the columns that it is after.
        told: what it was sent, (n, numbers): codes one-hot, an embedding, or scores.
        train: records that the attacker knows in full.
        test: records that are attacked.
        seed: for the choice of records and learners.
    """
    rng = np.random.default_rng(seed)
    train, test = rng.permutation(train)[:TRAIN], rng.permutation(test)[:TEST]
    varied = np.flatnonzero(private[train].std(axis=0) > 1e-3)
    private = private[:, varied]
    key = np.concatenate([train, test, [seed, len(varied)]]).tobytes() + private[test].tobytes()
    if key not in _guesses:
        _guesses[key] = _errors(own, private, train, test, seed)
    guesses = _guesses[key]
    codes = told.shape[1]
    crossed = (own[:, :, None] * told[:, None, :]).reshape(len(own), -1) if own.shape[1] * codes <= 1024 else own[:, :0]
    found = _errors(np.hstack([own, told]), private, train, test, seed, extra=crossed)
    guess, best = guesses.min(axis=0), np.minimum(found.min(axis=0), guesses.min(axis=0))
    # One learner for all columns, as the guess; then each column by its best.
    share = min(found.mean(axis=1).min(), guesses.mean(axis=1).min()) / guesses.mean(axis=1).min()
    by_column = best / np.maximum(guess, 1e-9)
    by_column[_rare(private[train]) | _rare(private[test])] = np.inf
    return {"left": float(share), "worst": float(by_column.min()), "column": int(varied[by_column.argmin()])}


def _rare(values: Array) -> NDArray[np.bool_]:
    """Columns in which fewer than `RARE` records differ from the commonest value."""
    commonest = np.array([np.unique(column, return_counts=True)[1].max() for column in values.T])
    return len(values) - commonest < RARE


def _errors(inputs: Array, outputs: Array, train: Array, test: Array, seed: int, extra: Array | None = None) -> Array:
    """Square errors by learner and column."""
    found = []
    for strength in (1e-2, 1.0, 100.0):
        wide = inputs if extra is None else np.hstack([inputs, extra])
        for given in (inputs,) if extra is None else (inputs, wide):
            fitted = Ridge(strength).fit(given[train], outputs[train])
            found.append(np.square(fitted.predict(given[test]) - outputs[test]).mean(axis=0))
    trees = ExtraTreesRegressor(40, min_samples_leaf=3, max_features=0.5, random_state=seed, n_jobs=1)
    chosen = np.random.default_rng(seed).permutation(outputs.shape[1])[:OUTPUTS]
    told = trees.fit(inputs[train], outputs[np.ix_(train, chosen)]).predict(inputs[test])
    error = np.full(outputs.shape[1], np.inf)
    error[chosen] = np.square(told.reshape(len(test), -1) - outputs[np.ix_(test, chosen)]).mean(axis=0)
    if len(chosen) == outputs.shape[1]:
        found.append(error)
    return np.array(found)
