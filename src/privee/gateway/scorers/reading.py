"""What a model puts out, made into scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import ScoreError
from privee.gateway.scorers.base import softmax
from privee.scores import check_rows


def scores_in(outputs: NDArray[Any], rows: int, classes: int, *, logits: bool) -> NDArray[np.float64]:
    """(rows, classes) in double precision, checked.

    One number for each row, where there are two classes, is how likely the second is; or how much likelier, as a logit.

    Raises:
        ScoreError: these are no scores.

    Example:
        >>> scores_in(np.array([0.25]), 1, 2, logits=False).tolist()
        [[0.75, 0.25]]
    """
    found = np.asarray(outputs)
    if found.dtype.kind not in "fiub":
        raise ScoreError("the model gave no numbers")
    one_each = classes == 2 and found.shape in ((rows,), (rows, 1))
    if one_each and found.dtype.kind in "iub":
        raise ScoreError("the model gave one whole number for each row, which is a class: have it give probabilities")
    found = found.astype(np.float64)
    if one_each:
        one = found.reshape(rows)
        found = np.column_stack([np.zeros(rows), one] if logits else [1.0 - one, one])
    if found.shape != (rows, classes):
        raise ScoreError(f"the model gave an array of shape {found.shape}, not ({rows}, {classes})")
    if logits:
        if not np.isfinite(found).all():
            raise ScoreError("the model gave logits that are not finite")
        found = softmax(found)
    check_rows(found)
    return found
