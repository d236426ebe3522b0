"""Sorting rows with their indices, near the price of sorting the scores alone.

`argsort` moves indices and looks scores up for each comparison. Here the last bits of each score's mantissa are
replaced by its place, and the whole numbers that this gives are sorted, which processors do fastest. Scores that
differ only in the bits that were given up may then stand in the wrong order; the scores themselves are fetched anyway,
so that shows, and a row where one falls is sorted once more, exactly. float32 scores, widened to float64, have more
free bits than a place needs: with them nothing is given up.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from privee.scores.along_rows import BLOCK, row_blocks
from privee.scores.forms import Floats

Flat = NDArray[np.int64]

PLACE_BITS = BLOCK.bit_length() - 1
MAGNITUDE = (1 << 63) - 1
"""All bits but the sign: -0.0 is as good as 0.0 here."""


def packed_sort(rows: Floats) -> tuple[Flat, Floats]:
    """Flat indices that sort each contiguous row, equal scores by falling index, and the sorted rows."""
    if rows.size <= BLOCK or len(rows) == 1:
        return _sorted_block(rows)
    order, values = np.empty(rows.shape, dtype=np.int64), np.empty_like(rows)
    for block in row_blocks(rows):
        order[block], values[block] = _sorted_block(rows[block])
        order[block] += block.start * rows.shape[1]
    return order, values


def _sorted_block(rows: Floats) -> tuple[Flat, Floats]:
    bits = PLACE_BITS if rows.size <= BLOCK else rows.size.bit_length()
    low = (1 << bits) - 1
    wide = rows.astype(np.float64, copy=False).view(np.int64)
    order = np.bitwise_and(wide, MAGNITUDE ^ low)
    order |= _places(rows.shape[1], bits)[: len(rows)]
    order.sort(axis=1)
    order &= low
    order ^= low
    values = rows.take(order)
    falls = _falls(values)
    if np.count_nonzero(falls):
        _sort_again(order, values, np.flatnonzero(falls.any(axis=1)))
    return order, values


def _sort_again(order: Flat, values: Floats, which: NDArray[np.intp]) -> None:
    """By the scores themselves. Equal ones were in order among each other, and a stable sort leaves them so."""
    again = values[which].argsort(axis=1, kind="stable")
    order[which] = np.take_along_axis(order[which], again, axis=1)
    values[which] = np.take_along_axis(values[which], again, axis=1)


def _falls(values: Floats) -> NDArray[np.bool_]:
    """Is each entry above the next one in its row?"""
    falls = np.empty(values.shape, dtype=bool)
    flat = values.reshape(-1)
    np.greater(flat[:-1], flat[1:], out=falls.reshape(-1)[:-1])
    falls[:, -1] = False
    return falls


def _places(n_classes: int, bits: int) -> Flat:
    """Every place of a block, counted from above: of equal scores, the one with the higher index comes first."""
    return _some_places(n_classes) if n_classes <= BLOCK else _counted(n_classes, bits)


@functools.lru_cache(maxsize=16)
def _some_places(n_classes: int) -> Flat:
    places = _counted(BLOCK // n_classes * n_classes, PLACE_BITS).reshape(-1, n_classes)
    places.setflags(write=False)
    return places


def _counted(size: int, bits: int) -> Flat:
    return ((1 << bits) - 1 - np.arange(size, dtype=np.int64)).reshape(1, -1)
