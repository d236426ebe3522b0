"""What scores, or a release of them, are still good for: naming the class, and putting records in order.

Keeping the ranking of the classes *within* each record says nothing about the order *between* records. With two
classes that order is the task: whom to call first, which cases to look at.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import ScoreError
from privee.scores.calibration import mean_gap
from privee.scores.forms import Floats, to_rows
from privee.scores.validation import SUM_TOLERANCE, check_release

Array = NDArray[np.float64]
ORDER_ROWS = 5000
"""Records among which `order_between` compares, spread evenly over those given."""
BLOCK = 1_000_000
"""Numbers that are put in order at a time."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Utility:
    """How far scores or releases serve those who know the labels; None is what cannot be said.

    With two classes the last one is the positive one. With more, each class stands against the rest, and the mean over
    the classes that occur among the labels is given.

    Attributes:
        rows: records measured on.
        accuracy: share of records whose class comes first.
        balanced_accuracy: the same, each class counting alike.
        f1: harmonic mean of precision and recall of the class that comes first.
        auc: chance that a record of the class stands above one of another, ties counted half; 0.5 is no order at all.
        average_precision: mean precision over the records of the class, from the top down; the class's share is no
            order at all.
        brier: mean square of positive score minus outcome with two classes, summed over all classes with more.
        calibration_error: mean gap between what is stated and what happened, over 15 bins of equal counts: of the
            positive score with two classes, of the top score with more.

    The last two need probabilities, so releases that are none have neither. Two classes must occur among the labels
    for what lies between accuracy and brier.
    """

    rows: int
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    f1: float | None = None
    auc: float | None = None
    average_precision: float | None = None
    brier: float | None = None
    calibration_error: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def utility_of(scores: Any, labels: Any) -> Utility:
    """Measure scores, or a release, against class numbers, one per record.

    Example:
        >>> utility_of([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]], [0, 1, 0]).auc
        1.0
    """
    rows, truth = _measurable(scores, labels)
    if not len(rows):
        return Utility(rows=0)
    named = rows.argmax(axis=1)
    return Utility(
        rows=len(rows),
        accuracy=float((named == truth).mean()),
        **_by_class(rows, named, truth),
        **_as_probabilities(rows, truth),
    )


def majority_of(labels: Any, n_classes: int) -> Utility:
    """What it is worth to name the most frequent class always, with the shares of the classes as scores.

    Example:
        >>> majority_of([0, 0, 0, 1], 2).accuracy
        0.75
    """
    _, truth = _measurable(np.zeros((len(labels), n_classes)), labels)
    shares = np.bincount(truth, minlength=n_classes) / max(1, len(truth))
    return utility_of(np.tile(shares, (len(truth), 1)), truth)


def order_between(scores: Any, release: Any) -> float:
    """How far a release keeps the order between records: Kendall's tau-b, 1 all of it, 0 none, -1 turned round.

    Of the positive class with two classes; with more, the mean over all classes whose scores differ at all. Of more
    than `ORDER_ROWS` records, so many are taken at even distances. A release that is the same for all records has 0.

    Example:
        >>> order_between([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]], [[0.8, 0.2], [0.5, 0.5], [0.7, 0.3]])
        1.0
    """
    from scipy.stats import kendalltau

    before, after = _finite(scores), _finite(release)
    if before.shape != after.shape:
        raise ScoreError(f"scores have shape {before.shape}, the release {after.shape}; they must be alike")
    few = np.linspace(0, len(before) - 1, min(len(before), ORDER_ROWS)).astype(np.intp)
    ours, theirs = ordering(before)[few], ordering(after)[few]
    varied = np.flatnonzero((ours != ours[:1]).any(axis=0))
    taus = [float(kendalltau(ours[:, k], theirs[:, k]).statistic) for k in varied]
    return float(np.nan_to_num(taus).mean()) if taus else 0.0


def ordering(rows: Floats) -> Array:
    """What orders records, one column per ordering: the positive class's score with two classes, else every class's.

    Two numbers that are no probabilities need not sum to one, so there the difference orders.
    """
    values = rows.astype(np.float64)
    if values.shape[1] > 2:
        return values
    return values[:, 1:] if are_probabilities(rows) else values[:, 1:] - values[:, :1]


def are_probabilities(rows: Floats) -> bool:
    """Nothing below zero, and every row sums to one."""
    sums = rows.sum(axis=1, dtype=np.float64)
    return bool((rows >= 0).all() and (np.abs(sums - 1.0) <= SUM_TOLERANCE).all())


def _measurable(scores: Any, labels: Any) -> tuple[Floats, NDArray[np.intp]]:
    rows, truth = _finite(scores), np.asarray(labels)
    if truth.shape != (len(rows),):
        raise ScoreError(f"there must be one label for each of the {len(rows)} rows, got shape {truth.shape}")
    if len(truth) and (truth.dtype.kind not in "iu" or truth.min() < 0 or truth.max() >= rows.shape[1]):
        raise ScoreError(f"labels must be class numbers from 0 to {rows.shape[1] - 1}")
    return rows, truth.astype(np.intp)


def _finite(scores: Any) -> Floats:
    rows, _ = to_rows(scores)
    check_release(rows)
    return rows


def _by_class(rows: Floats, named: NDArray[np.intp], truth: NDArray[np.intp]) -> dict[str, float | None]:
    """The measures that need two classes among the labels."""
    size = rows.shape[1]
    count = np.bincount(truth, minlength=size)
    present = np.flatnonzero(count)
    if len(present) < 2:
        return {}
    right = np.bincount(truth[named == truth], minlength=size)
    claimed = np.bincount(named, minlength=size)
    judged = present[-1:] if size == 2 else present
    hits = truth[:, None] == judged
    columns = ordering(rows)
    auc, precision = _order_measures(columns if size == 2 else columns[:, present], hits)
    return {
        "balanced_accuracy": float((right[present] / count[present]).mean()),
        "f1": float((2 * right[judged] / (count[judged] + claimed[judged])).mean()),
        "auc": float(auc.mean()),
        "average_precision": float(precision.mean()),
    }


def _as_probabilities(rows: Floats, truth: NDArray[np.intp]) -> dict[str, float | None]:
    if not are_probabilities(rows):
        return {}
    values = rows.astype(np.float64)
    if values.shape[1] == 2:
        error, gap = (values[:, 1] - truth) ** 2, mean_gap(values[:, 1], truth == 1)
    else:
        own = values[np.arange(len(values)), truth]
        error = (values**2).sum(axis=1) - 2 * own + 1
        gap = mean_gap(values.max(axis=1), values.argmax(axis=1) == truth)
    return {"brier": float(error.mean()), "calibration_error": gap}


def _order_measures(columns: Array, hits: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Area under the ROC curve and average precision of each column, some columns at a time to save memory."""
    some = max(1, BLOCK // len(columns))
    blocks = [slice(start, start + some) for start in range(0, columns.shape[1], some)]
    found = [_order_of_rows(columns.T[block], hits.T[block]) for block in blocks]
    auc, precision = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return auc, precision


def _order_of_rows(lines: Array, hits: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The same of each row; equal values are one step of the curve."""
    count = lines.shape[1]
    order = np.argsort(-lines, axis=1)
    falling, hit = np.take_along_axis(lines, order, axis=1), np.take_along_axis(hits, order, axis=1)
    new = np.ones(lines.shape, dtype=bool)
    new[:, 1:] = falling[:, 1:] != falling[:, :-1]
    first = np.maximum.accumulate(np.where(new, np.arange(count), 0), axis=1)
    ends = np.where(np.roll(new, -1, axis=1), np.arange(count), count)
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    found = np.cumsum(hit, axis=1)
    found_by = np.take_along_axis(found, last, axis=1)
    false_by = last + 1 - found_by
    false_before = first - np.take_along_axis(found - hit, first, axis=1)
    positives, negatives = found[:, -1], count - found[:, -1]
    below = negatives[:, None] - (false_by + false_before) / 2
    auc = (below * hit).sum(axis=1) / (positives * negatives)
    precision = (found_by / (last + 1) * hit).sum(axis=1) / positives
    return auc, precision
