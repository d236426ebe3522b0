"""Sums along rows, to the last bit as NumPy's own, and quicker where rows are many and short.

NumPy goes from row to row there, and with ten classes the way from one to the next costs more than the row. Going from
column to column does the same additions in the same order. Which way is taken never shows in the result.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from privee.scores.forms import Floats

Array = NDArray[np.float64]

BLOCK = 1 << 14
"""Scores handled at once, so that they stay in the processor's cache; a row longer than this is a block of its own."""
FEW = 64
"""Up to so many numbers Python is quicker than the way to NumPy."""
FEW_CLASSES, MANY_ROWS = 32, 64
ROUGHLY = 1e-4
"""K float32 numbers added up in any order are off by K * 2**-24 of their sum at most: far less, for few classes."""
LANES = 8
"""NumPy adds up so many partial sums side by side, and pairs them in the end."""


def by_columns(rows: Floats) -> bool:
    """Are rows so short, and so many, that going from column to column is quicker?"""
    return len(rows) >= MANY_ROWS and rows.shape[1] <= FEW_CLASSES


def row_blocks(rows: Floats) -> list[slice]:
    """Slices of whole rows that hold at most `BLOCK` scores."""
    step = max(1, BLOCK // max(1, rows.shape[1]))
    return [slice(start, start + step) for start in range(0, len(rows), step)]


def rough_sums(rows: Floats) -> Floats:
    """The sum of each short row in the rows' own precision, off by `ROUGHLY` of itself at most."""
    return np.asarray(np.einsum("ij->i", rows))


def row_sums(rows: Floats) -> Array:
    """The sum of each row in float64: `np.add.reduce(rows, axis=1, dtype=np.float64)`, bit for bit."""
    if not by_columns(rows):
        return np.asarray(np.add.reduce(rows, axis=1, dtype=np.float64))
    sums = np.empty(len(rows))
    for block in row_blocks(rows):
        sums[block] = pairwise(list(rows[block].astype(np.float64, copy=False).T))
    return sums


def pairwise(columns: list[Array]) -> Array:
    """NumPy's order of additions for up to 128 numbers: eight running sums, paired, and then what is left over."""
    whole = len(columns) - len(columns) % LANES
    lanes, left = columns[: LANES if whole else 1], columns[whole or 1 :]
    for start in range(LANES, whole, LANES):
        lanes = [a + b for a, b in zip(lanes, columns[start : start + LANES], strict=True)]
    while len(lanes) > 1:
        lanes = [a + b for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
    total = lanes[0] + left[0] if left else lanes[0]
    for column in left[1:]:
        total += column
    return total


def add_up(rows: Array) -> Array:
    """Running sums along each row, in place: `np.cumsum(rows, axis=1)`, bit for bit."""
    if not by_columns(rows):
        return np.cumsum(rows, axis=1, out=rows)
    columns = rows.T
    for before, column in itertools.pairwise(columns):
        np.add(before, column, out=column)
    return rows


def to_each(column: Array, n_classes: int) -> Array:
    """One number per row as an array to calculate with: written out where NumPy would go from row to row."""
    if len(column) == 1:
        return column
    if len(column) >= MANY_ROWS and n_classes <= FEW_CLASSES:
        return column.repeat(n_classes).reshape(-1, n_classes)
    return column[:, None]
