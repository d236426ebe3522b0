"""Releases the slow and obvious way, number by number, to compare the quick ones with."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import privee

TINY = {np.float32: 1e-45, np.float64: 5e-324}


def plain_order(rows: np.ndarray) -> np.ndarray:
    """Indices within each row by rising score; of equal scores (0.0 and -0.0 are) the higher index comes first."""
    places = [sorted(range(len(row)), key=lambda j, row=row: (row[j], -j)) for row in rows.tolist()]
    return np.array(places, dtype=np.int64).reshape(rows.shape)


def plain_rise(scores: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """Each value raised, where needed, to the next float above the one before it."""
    out = values.copy()
    for i in range(len(out)):
        row = out[i]
        rises = [scores is None or scores[i, k] > scores[i, k - 1] for k in range(1, len(row))]
        if all(row[k] > row[k - 1] for k in range(1, len(row))):
            continue  # rows in order are left alone, to the sign of their zeros
        row[0] += 0.0  # the first one too: -0.0 becomes 0.0 wherever there is a repair
        for k, must in enumerate(rises, start=1):
            least = np.nextafter(row[k - 1], row.dtype.type(np.inf)) if must else row[k - 1]
            row[k] = max(row[k], least) + 0.0
    return out


def plain_privee_u(defense: privee.PriveeU, rows: np.ndarray, draws) -> np.ndarray:
    """The formula for one score after the other, in float64, then rounded and repaired."""
    n_classes = rows.shape[1]
    public, order = defense.intervals(n_classes), plain_order(rows)
    low, high = public.factor_low[::-1].tolist(), public.factor_high[::-1].tolist()
    out = np.empty_like(rows)
    for row, places, placed in zip(rows, order, out, strict=True):
        total = float(np.add.reduce(row, dtype=np.float64))
        drawn = [float(draws.uniform(1)[0]) for _ in range(n_classes)]
        made = [
            (u * (b - a) + a) * float(row[j]) - public.shift * total
            for u, a, b, j in zip(drawn, low, high, places, strict=True)
        ]
        placed[places] = plain_rise(row[places][None], np.array([made]).astype(rows.dtype))[0]
    return out


@st.composite
def hostile_rows(draw):
    """Rows of subnormals, zeros of both signs, equal scores and scores a few last bits apart; few rows or many."""
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    n_classes = draw(st.one_of(st.integers(2, 33), st.sampled_from([128, 500])))
    kinds = [0.0, -0.0, TINY[dtype], 3 * TINY[dtype], float(np.finfo(dtype).tiny), 1e-30, 0.25, 0.5, 1.0]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (draw(st.sampled_from([1, 2, 70])), n_classes)
    rows = rng.choice(np.array(kinds), size=shape, p=rng.dirichlet(np.full(len(kinds), 0.3)))
    near = rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.9]))
    rows[near] = 0.1 * (1 + rng.integers(0, 6, size=near.sum()) * float(np.finfo(dtype).eps))
    rough = rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.9]))
    rows[rough] = np.ldexp(rng.random(rough.sum()), -rng.integers(0, 1074, size=rough.sum()))
    rows[:, rng.integers(n_classes)] += 0.01  # so that no row sums to zero
    return rows.astype(dtype)


def as_scores(rows: np.ndarray) -> np.ndarray:
    """Brought to a sum of one; signs of zeros and most near ties live on."""
    scores = (rows / rows.sum(axis=1, keepdims=True, dtype=np.float64)).astype(rows.dtype)
    return np.ascontiguousarray(scores)
