"""A public inverse by simulation, where there is no closed one: what releases that look like this one were off by.

Anyone can draw scores, release them with the public settings and see how far each release is from its scores. The
estimate is the release plus the mean of that over simulated releases near it and of the likeliest kind, position by
position (classes in the order of the release). How near, and how much of it to believe, is decided on simulated
releases that were kept aside. Most scores are drawn flat, as estimates assume elsewhere too, the others as confident
models have them. An attacker with auxiliary rows knows typical scores better; that is for the attacks, which simulate
too.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses.base import Defense
from privee.defenses.inverse import project_to_simplex
from privee.defenses.small_nets import softmax
from privee.randomness import Draws, seeded
from privee.scores import ascending, place

Array = NDArray[np.float64]
Kinds = tuple[float, ...]

SIMULATED = 1 << 18
"""Scores in all: so many classes, so many fewer vectors."""
MOST_ROWS, FEWEST_ROWS = 3000, 60
RESOLVED = 1e-3
"""Differences between scores below this do not count as much."""
MOSTLY_FLAT = (*[0.0] * 14, 3.0, 8.0)
"""Kinds of score vectors, by turns: 0 is flat, else the softmax of normal logits with this spread."""
DOUBTFUL_TO_SURE = (3.0, 1.0, 8.0)
NEIGHBOURS = (8, 32, 128)
TRUST = (0.0, 0.5, 1.0)


class _Bank(NamedTuple):
    """Releases in ascending order, what to believe of what their scores were more than that, and how near is near."""

    release: Array
    missed: Array
    kind: Array
    neighbours: int


def simulated_inverse(defense: Defense, rows: Array, most: int = MOST_ROWS, kinds: Kinds = MOSTLY_FLAT) -> Array:
    """Scores behind releases of a defense, by its public settings alone."""
    bank = _bank(defense.public_copy(), rows.shape[1], most, kinds)
    order, rising = ascending(np.ascontiguousarray(rows))
    values = np.asarray(rising, dtype=np.float64)
    found = values + _mean_missed(values, bank, (bank.neighbours,))[0]
    if defense.preserves_order:
        found.sort(axis=1)  # the scores rise in this order, and sorting comes nearer to whatever rises
    return np.asarray(place(order, project_to_simplex(found)), dtype=np.float64)


@functools.lru_cache(maxsize=16)
def _bank(defense: Defense, n_classes: int, most: int, kinds: Kinds) -> _Bank:
    """A fourth of each kind is kept aside, to see how many neighbours to ask and how far to believe those of a kind."""
    scores = drawn_scores(n_classes, seeded(0, "simulated inverse", n_classes), most, kinds)
    released = defense.release(scores, draws=seeded(1, "simulated inverse", n_classes)).astype(np.float64)
    order, rising = ascending(released)
    release = np.asarray(rising, dtype=np.float64)
    missed = scores.reshape(-1)[order] - release
    kind = np.resize(kinds, len(scores))
    aside = np.arange(len(scores)) // len(kinds) % 4 == 0
    counts = tuple(k for k in NEIGHBOURS if k < len(scores) // 4)
    tried = _mean_missed(release[aside], _Bank(release[~aside], missed[~aside], kind[~aside], 0), counts)
    best: dict[int, tuple[float, dict[float, float]]] = {}
    for count, one in zip(counts, tried, strict=True):
        errors = {
            spread: [float(np.square(missed[aside] - trust * one)[kind[aside] == spread].sum()) for trust in TRUST]
            for spread in set(kinds)
        }
        left = sum(min(each) / max(each[0], 1e-12) for each in errors.values())  # trust 0 comes first
        best[count] = left, {spread: TRUST[int(np.argmin(each))] for spread, each in errors.items()}
    neighbours = min(best, key=lambda count: best[count][0])
    trust = np.array([best[neighbours][1][spread] for spread in kind])
    return _Bank(release, missed * trust[:, None], kind, neighbours)


def drawn_scores(n_classes: int, draws: Draws, most: int, kinds: Kinds) -> Array:
    """Public score vectors of these kinds, by turns."""
    count = min(int(np.clip(SIMULATED // n_classes, FEWEST_ROWS, MOST_ROWS)), most)
    spread = np.resize(kinds, count)[:, None]
    normal, flat = draws.normal((count, n_classes)), np.log(draws.exponential((count, n_classes)))
    return softmax(np.where(spread > 0, spread * normal, flat))


def _mean_missed(rows: Array, bank: _Bank, counts: tuple[int, ...]) -> list[Array]:
    """The mean over near simulated releases of the likeliest kind, for each count; the count-th nearest is far."""
    found: list[list[Array]] = [[] for _ in counts]
    spread = _spread(bank.release)
    squares, most = np.square(spread).sum(axis=1), max(counts)
    for block in np.array_split(_spread(rows), -(-len(rows) // 256)):
        apart = squares - 2 * block @ spread.T
        near = np.argpartition(apart, most - 1, axis=1)[:, :most]
        near = np.take_along_axis(near, np.take_along_axis(apart, near, axis=1).argsort(axis=1), axis=1)
        distance = np.take_along_axis(apart, near, axis=1) + np.square(block).sum(axis=1, keepdims=True)
        for kept, count in zip(found, counts, strict=True):
            weight = np.exp(-distance / np.maximum(distance[:, count - 1 : count], 1e-12))
            weight = _of_likeliest(weight, bank.kind[near])
            kept.append(np.einsum("rn,rnk->rk", weight, bank.missed[near]))
    return [np.concatenate(parts) for parts in found]


def _of_likeliest(weight: Array, kind: Array) -> Array:
    """The weights of the kind that has most of them, summing to one; nothing for the others."""
    kinds = np.unique(kind)
    shares = np.stack([(weight * (kind == one)).sum(axis=1) for one in kinds], axis=1)
    weight = weight * (kind == kinds[shares.argmax(axis=1)][:, None])
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _spread(release: Array) -> Array:
    """Releases on a scale on which small scores count too."""
    return np.asarray(np.log(np.maximum(release, 0.0) + RESOLVED))
