"""Does the top score mean what it says?"""

from __future__ import annotations

from typing import Any

import numpy as np

from privee.errors import ScoreError
from privee.scores.forms import to_rows


def calibration_error(scores: Any, labels: Any, bins: int = 15) -> float:
    """Expected calibration error: mean gap between top score and share of right answers, over bins of equal counts.

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
