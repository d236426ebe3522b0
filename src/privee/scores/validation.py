"""Is this a score array? Checks that cost two passes, and messages that name the row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import ScoreError
from privee.scores.along_rows import FEW, ROUGHLY, by_columns, rough_sums, row_sums
from privee.scores.forms import Floats, to_rows

SUM_TOLERANCE = 1e-3
"""How far a row's sum may be from one: wide enough for scores printed with six digits and 1,000 classes."""

NEGATIVE = "is negative; apply softmax first if these are logits"

MAX_SUM = 1e9
"""Largest row sum with `check_sum=False`; keeps every release finite in float32."""


def check_scores(scores: Any, *, check_sum: bool = True) -> Floats:
    """Return the scores as (n, K) rows, or raise a `ScoreError` that says which row is wrong and why.

    Args:
        scores: one vector (K,) or a batch (n, K); NumPy, torch or nested lists.
        check_sum: False accepts rows that do not sum to one (up to `MAX_SUM`).

    Example:
        >>> check_scores([0.2, 0.8]).shape
        (1, 2)
    """
    rows, _ = to_rows(scores)
    check_rows(rows, check_sum=check_sum)
    return rows


def check_rows(rows: Floats, *, check_sum: bool = True) -> NDArray[np.float64]:
    """Validate (n, K) rows and return their sums, which many defenses need anyway."""
    if rows.shape[1] < 2:
        raise ScoreError(f"scores need at least two classes, got {rows.shape[1]}; of a probability p give 1 - p and p")
    sums = row_sums(rows)
    if not rows.size:
        return sums
    # Written so that a NaN fails the comparison; an infinity shows in the sum.
    least, most = (1.0 - SUM_TOLERANCE, 1.0 + SUM_TOLERANCE) if check_sum else (0.0, MAX_SUM)
    if not _within(sums, least, most) or not _none_negative(rows):
        raise _diagnose(rows, sums, check_sum)
    return sums


def check_rows_alone(rows: Floats, *, check_sum: bool = True) -> NDArray[np.float64]:
    """Validate as `check_rows` does where nobody needs the sums; those returned may be rough.

    Rows whose rough sums are clear of the limits are spared the exact ones.
    """
    if by_columns(rows) and check_sum:
        rough, room = rough_sums(rows), SUM_TOLERANCE - ROUGHLY
        if _within(rough, 1.0 - room, 1.0 + room) and _none_negative(rows):
            return rough.astype(np.float64, copy=False)
    return check_rows(rows, check_sum=check_sum)


def _within(sums: Floats, least: float, most: float) -> bool:
    if len(sums) == 1:
        return bool(least <= sums.item() <= most)
    return bool(sums.min() >= least and sums.max() <= most)


def _none_negative(rows: Floats) -> bool:
    """Of rows that hold no NaN; -0.0 is none."""
    if len(rows) == 1 and rows.size <= FEW:
        return bool(min(rows[0].tolist()) >= 0.0)
    return bool(np.count_nonzero(rows >= 0.0) == rows.size)


def check_release(release: Floats) -> None:
    """A release may hold any finite numbers; refuse what no defense would hand out."""
    if release.shape[1] < 2:
        raise ScoreError(f"a release needs at least two classes, got {release.shape[1]}")
    finite = np.isfinite(release)
    if not finite.all():
        raise _at(~finite, "is not a finite number")


def _diagnose(rows: Floats, sums: NDArray[np.float64], check_sum: bool) -> ScoreError:
    """Name the first offence. Values themselves stay out of the message: messages reach logs."""
    for bad, what in ((~np.isfinite(rows), "is not a finite number"), (rows < 0, NEGATIVE)):
        if bad.any():
            return _at(bad, what)
    if not check_sum:
        return ScoreError(f"sums to more than {MAX_SUM:g}", row=int(np.argmax(sums > MAX_SUM)))
    row = int(np.argmax(~(np.abs(sums - 1.0) <= SUM_TOLERANCE)))
    return ScoreError(
        f"sums to {sums[row]:.4g}, not to 1 within {SUM_TOLERANCE:g}; "
        "apply softmax first, or pass check_sum=False (--no-sum-check)",
        row=row,
    )


def _at(bad: NDArray[np.bool_], what: str) -> ScoreError:
    row, column = np.argwhere(bad)[0]
    return ScoreError(what, row=int(row), column=int(column))
