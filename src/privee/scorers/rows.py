"""What such models put out, as rows of scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from privee.errors import ScoreError
from privee.scores.forms import Floats, to_rows


def scores_of_outputs(values: Any) -> Floats:
    """(n, K) as it is; the probabilities p of one class, (n,) or (n, 1), as those of two: 1 - p and p."""
    outputs = np.asarray(values)
    if outputs.ndim == 2 and outputs.shape[1] != 1:
        return to_rows(outputs)[0]
    if outputs.ndim not in (1, 2):
        raise ScoreError(f"expected (rows, classes), or one probability for each row, got shape {outputs.shape}")
    one = to_rows(outputs.reshape(-1, 1))[0][:, 0]
    wrong = ~((one >= 0) & (one <= 1))  # a NaN is wrong too
    if wrong.any():
        what = "is not from 0 to 1, and one output alone must be the probability of a class"
        raise ScoreError(what, row=int(np.argmax(wrong)))
    return np.stack([1 - one, one], axis=1)
