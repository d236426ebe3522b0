"""One short vector, released number by number: below some tens of classes the way to NumPy costs more than the work.

The same arithmetic in the same order as for rows, so the same bits.
"""

from __future__ import annotations

import operator

import numpy as np

from privee.randomness import Draws
from privee.scores import rise_where
from privee.scores.forms import Floats

LONGEST = 24
"""Classes up to which this is quicker."""


def release_vector(rows: Floats, taken: float, smallest: list[float], spread: list[float], draws: Draws) -> Floats:
    """Release the one row of (1, K) scores: times `smallest + spread * draw` by rank, rising, then minus `taken`."""
    scores = rows[0].tolist()
    order = sorted(range(len(scores) - 1, -1, -1), key=scores.__getitem__)
    factors = zip(draws.uniform(len(scores)).tolist(), spread, smallest, order, strict=False)
    made = [(draw * width + least) * scores[j] - taken for draw, width, least, j in factors]
    if rows.dtype != np.float64:
        made = np.array(made, dtype=rows.dtype).tolist()
    if not all(map(operator.lt, made, made[1:])):
        made = rise_where(rows[:, order], np.array([made], dtype=rows.dtype))[0].tolist()
    placed = [0.0] * len(scores)
    for j, number in zip(order, made, strict=False):
        placed[j] = number
    return np.array([placed], dtype=rows.dtype)
