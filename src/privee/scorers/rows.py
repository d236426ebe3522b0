"""What such models put out, as rows of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from privee.errors import ScoreError
from privee.scores.forms import Floats, to_rows


def scores_of_outputs(values: Any, *, logits: bool = False) -> Floats:
    """(n, K) as they are, or the softmax of logits; of one output for each row, (n,) or (n, 1), two classes.

    Such a one is the probability p of the second class, and makes 1 - p and p; or its logit, that of the first being 0.
    """
    outputs = np.asarray(values)
    if outputs.ndim not in (1, 2):
        raise ScoreError(f"expected (rows, classes), or one probability for each row, got shape {outputs.shape}")
    if outputs.dtype.kind in "iub" and (outputs.ndim == 1 or outputs.shape[1] == 1):
        raise ScoreError(
            "one whole number for each row is a class, not a score: ask the model for probabilities (a model of "
            'scikit-learn is logged in MLflow with pyfunc_predict_fn="predict_proba")'
        )
    rows = to_rows(outputs if outputs.ndim == 2 else outputs[:, None])[0]
    if rows.shape[1] == 1:
        rows = np.concatenate([np.zeros_like(rows), rows], axis=1) if logits else _both(rows)
    return np.asarray(softmax(rows, axis=1)) if logits else rows


def _both(one: Floats) -> Floats:
    wrong = ~((one >= 0) & (one <= 1))  # a NaN is wrong too
    if wrong.any():
        what = "is not from 0 to 1, and one output alone must be the probability of a class"
        raise ScoreError(what, row=int(np.argmax(wrong)))
    return np.concatenate([1 - one, one], axis=1)
