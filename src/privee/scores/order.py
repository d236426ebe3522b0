"""Ranking, and keeping it to the last bit.

Inside privee rows are handled in *ascending* order of score, because that is what NumPy's fastest sort gives.
Among equal scores the higher class index comes first there, so that reading a row backwards gives the ranking:
falling scores, ties keep the lower index first.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.scores.along_rows import FEW, by_columns
from privee.scores.forms import Floats, to_rows
from privee.scores.packed_sort import packed_sort

Flat = NDArray[np.intp]

SMALL = 400
"""Below so many scores a plain argsort has done before whole numbers are packed."""


def ranking(scores: Any) -> NDArray[np.intp]:
    """Classes by falling score, ties keep the lower index first; the first one is exactly `argmax`.

    Example:
        >>> ranking([0.2, 0.4, 0.4])
        array([1, 2, 0])
    """
    rows, form = to_rows(scores)
    order, _ = ascending(rows)
    falling = (order - _row_starts(rows))[:, ::-1]
    return falling[0] if form.one_vector else falling


def ascending(rows: Floats) -> tuple[Flat, Floats]:
    """Return flat indices that sort each contiguous row, and the sorted rows."""
    return packed_sort(rows) if rows.size >= SMALL else _plain_sort(rows)


def _plain_sort(rows: Floats) -> tuple[Flat, Floats]:
    """With a few scores, such as one vector, every call counts: as few as there can be."""
    order = rows.argsort(axis=1)
    if len(rows) > 1:
        order += _row_starts(rows)
    values = rows.take(order)
    if len(rows) == 1 and _rises_throughout(values[0]):
        return order, values
    rises = _rises(values)
    if np.count_nonzero(rises) != rises.size:
        _sort_ties(rows, order, rises)
        values = rows.take(order)  # 0.0 and -0.0 are equal, not the same
    return order, values


def place(order: Flat, values: Floats, *, out: Floats | None = None) -> Floats:
    """Put values sorted with `ascending` back where their classes are, in `out` if given."""
    placed = np.empty_like(values) if out is None else out
    placed.reshape(-1)[order] = values
    return placed


def rise_where(sorted_scores: Floats | None, values: Floats) -> Floats:
    """Make ascending `values` rise wherever `sorted_scores` do, changing as few last bits as possible.

    Rounding can merge or swap what the mathematics keeps apart. Each value is moved up by the fewest
    representable steps that restore the order; equal scores only need not to fall. `None` means rise everywhere.
    """
    if len(values) == 1:
        return values if _rises_throughout(values[0]) else _lift(sorted_scores, values)
    fine = _rises(values)
    missing = values.size - np.count_nonzero(fine)  # counting booleans beats all()
    if not missing:
        return values
    if missing >= len(values) // 4 and not _holds_minus_zero(values):
        return _lift(sorted_scores, values)  # rows that are fine stay as they are, and most are not
    bad = np.flatnonzero(~fine.all(axis=1))
    values[bad] = _lift(None if sorted_scores is None else sorted_scores[bad], values[bad])
    return values


def _lift(sorted_scores: Floats | None, values: Floats) -> Floats:
    """The exact repair, in units in the last place: m_k >= m_(k-1) + d_k.

    m are the values' places on the ladder of floats, d the steps they must rise by.
    """
    ladder = _ladder(values.view(f"i{values.dtype.itemsize}"))
    must_rise = None if sorted_scores is None else _rises(sorted_scores)
    climb = _climb_by_columns if by_columns(values) else _climb_by_rows
    climb(ladder, must_rise)
    return _ladder(ladder).view(values.dtype)


def _climb_by_rows(ladder: NDArray[Any], must_rise: NDArray[np.bool_] | None) -> None:
    """The places minus the running sum of d never fall: a running maximum."""
    steps = np.zeros_like(ladder)
    if must_rise is None:
        steps += np.arange(ladder.shape[1], dtype=ladder.dtype)
    else:
        np.cumsum(must_rise[:, :-1], axis=1, out=steps[:, 1:])
    ladder -= steps
    np.maximum.accumulate(ladder, axis=1, out=ladder)
    ladder += steps


def _climb_by_columns(ladder: NDArray[Any], must_rise: NDArray[np.bool_] | None) -> None:
    """One class after the other, all rows at once."""
    columns = ladder.T
    steps = [1] * len(columns) if must_rise is None else must_rise.T.astype(ladder.dtype)
    least = np.empty_like(columns[0])
    for before, step, column in zip(columns[:-1], steps, columns[1:], strict=False):
        np.add(before, step, out=least)
        np.maximum(column, least, out=column)


def _holds_minus_zero(values: Floats) -> bool:
    """The ladder has one place for both zeros, so -0.0 would not come back."""
    bits = values.view(f"i{values.dtype.itemsize}")
    return bool(np.count_nonzero(bits == np.iinfo(bits.dtype).min))


def _ladder(bits: NDArray[Any]) -> NDArray[Any]:
    """Between the bits of floats and their places in order: neighbours differ by one, both zeros are 0.

    Its own inverse. Negative floats are a sign bit and a magnitude m; what comes out for them is -m: all bits but the
    sign turned over are -m - 1.
    """
    sign = bits >> (8 * bits.itemsize - 1)  # 0, or -1 for negative ones
    found = sign & np.iinfo(bits.dtype).max
    found ^= bits
    found -= sign
    return found


def _rises_throughout(row: Floats) -> bool:
    if row.size <= FEW:
        numbers = row.tolist()
        return all(map(operator.lt, numbers, numbers[1:]))
    return bool(np.count_nonzero(row[:-1] < row[1:]) == row.size - 1)


def _rises(values: Floats) -> NDArray[np.bool_]:
    """Is each entry below the next one in its row? The last one of a row has nothing to rise to: True."""
    rises = np.empty(values.shape, dtype=bool)
    flat = values.reshape(-1)
    np.less(flat[:-1], flat[1:], out=rises.reshape(-1)[:-1])
    rises[:, -1] = True
    return rises


def _sort_ties(rows: Floats, order: Flat, rises: NDArray[np.bool_]) -> None:
    """Among equal scores, put the higher index first; only rows that have ties pay for it.

    Sorting whole numbers that hold the run of equal scores and the index is far cheaper than a stable argsort.
    """
    tied = np.flatnonzero(~rises.all(axis=1))
    n_classes, strict = rows.shape[1], rises[tied]
    runs = (np.cumsum(strict, axis=1) - strict) * n_classes + (tied * n_classes)[:, None]
    keys = runs - order[tied]
    keys.sort(axis=1)
    order[tied] = runs - keys


def _row_starts(rows: Floats) -> NDArray[np.intp]:
    return np.arange(0, rows.size, rows.shape[1], dtype=np.intp)[:, None]
