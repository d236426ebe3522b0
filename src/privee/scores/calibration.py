"""Do scores mean what they say?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import ScoreError
from privee.scores.forms import to_rows

BINS = 15


def calibration_error(scores: Any, labels: Any, bins: int = BINS) -> float:
    """Expected calibration error: mean gap between top score and share of right answers, over bins of equal counts.

    Equal scores may lie in different bins; `mean_gap` keeps them together.

    Example:
        >>> calibration_error([[0.75, 0.25]] * 4, [0, 0, 0, 1], bins=1)
        0.0
    """
    rows, _ = to_rows(scores)
    truth = np.asarray(labels)
    if truth.shape != (len(rows),) or not len(rows):
        raise ScoreError(f"there must be one label for each of the {len(rows)} rows, got shape {truth.shape}")
    confidence, right = rows.max(axis=1).astype(np.float64), rows.argmax(axis=1) == truth
    parts = np.array_split(np.argsort(confidence, kind="stable"), min(bins, len(rows)))
    return float(sum(len(part) * abs(confidence[part].mean() - right[part].mean()) for part in parts) / len(rows))


def mean_gap(stated: NDArray[Any], happened: NDArray[np.bool_], bins: int = BINS) -> float:
    """Mean gap between a stated probability and how often it came true, over bins of equal counts.

    Equal values share the bin of the first of them: one and the same statement is not judged in pieces. Without equal
    values it is what `calibration_error` gives.
    """
    order = np.argsort(stated, kind="stable")
    values, hits = stated[order].astype(np.float64), happened[order]
    whole, rest = divmod(len(values), bins)
    starts = np.arange(bins) * whole + np.minimum(np.arange(bins), rest)
    first = np.searchsorted(values, values)
    bin_of = np.searchsorted(starts, first, side="right") - 1
    gaps = np.bincount(bin_of, weights=values - hits, minlength=bins)
    return float(np.abs(gaps).sum() / len(values))
