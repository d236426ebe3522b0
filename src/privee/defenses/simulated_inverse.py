"""A public inverse by simulation, where there is no closed one: what releases that look like this one were off by.

Anyone can draw scores, release them with the public settings and see what became of them. The estimate is the mean of
the scores behind the simulated releases that are nearest, position by position (classes in the order of the release),
plus a part of what the release is more than those. How near, and how large a part, is decided on simulated releases
that were kept aside: where draws decide nearly all it is none, where they decide little all of it. Most scores are
taken to be flat, as estimates assume elsewhere too, the others as confident models have them. Whoever has auxiliary
rows knows typical scores better; that is for the attacks, which simulate too, and `inverse_by` shows what it gains.
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

SIMULATED = 1 << 19
"""Scores in all: so many classes, so many fewer vectors."""
MOST_ROWS, FEWEST_ROWS = 6000, 60
RESOLVED = 1e-3
"""Differences between scores below this do not count as much."""
FLAT_OR_SURE = (0.0, 0.0, 3.0, 8.0)
"""Kinds of score vectors, by turns: 0 is flat, else the softmax of normal logits with this spread."""
FLAT = 7 / 8
"""How likely flat ones are, where there are any: they count for more than their number, so that others are not rare."""
DOUBTFUL_TO_SURE = (3.0, 1.0, 8.0)
NEIGHBOURS = (8, 32, 128)
PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)


class _Bank(NamedTuple):
    """Releases in ascending order, the scores behind them, how much each counts; how near is near, what is kept."""

    release: Array
    scores: Array
    weight: Array
    neighbours: int
    part: float


def simulated_inverse(defense: Defense, rows: Array, kinds: Kinds = FLAT_OR_SURE) -> Array:
    """Scores behind releases of a defense, by its public settings alone."""
    return _read(defense, rows, _drawn_bank(defense.public_copy(), rows.shape[1], kinds))


def inverse_by(defense: Defense, rows: Array, known: Array, draws: int = 40) -> Array:
    """Scores behind releases of a defense, for whoever knows other scores of the same kind; so many draws of each."""
    return _read(
        defense, rows, _bank_of(defense.public_copy(), np.tile(known, (draws, 1)), np.zeros(draws * len(known)))
    )


def _read(defense: Defense, rows: Array, bank: _Bank) -> Array:
    order, rising = ascending(np.ascontiguousarray(rows))
    found = _mean_near(np.asarray(rising, dtype=np.float64), bank, (bank.neighbours,), (bank.part,))[0][0]
    if defense.preserves_order:
        found.sort(axis=1)  # the scores rise in this order, and sorting comes nearer to whatever rises
    return np.asarray(place(order, project_to_simplex(found)), dtype=np.float64)


@functools.lru_cache(maxsize=16)
def _drawn_bank(defense: Defense, n_classes: int, kinds: Kinds) -> _Bank:
    scores = drawn_scores(n_classes, seeded(0, "simulated inverse", n_classes), kinds)
    return _bank_of(defense, scores, np.resize(kinds, len(scores)))


def _bank_of(defense: Defense, scores: Array, kind: Array) -> _Bank:
    """A fourth of each kind is kept aside, to see how many neighbours to ask and how much of the rest to keep."""
    released = defense.release(scores, draws=seeded(1, "simulated inverse", scores.shape[1])).astype(np.float64)
    order, rising = ascending(released)
    release, true = np.asarray(rising, dtype=np.float64), scores.reshape(-1)[order]
    aside = np.arange(len(scores)) // len(np.unique(kind)) % 4 == 0
    counts = tuple(k for k in NEIGHBOURS if k < len(scores) // 4)
    weight = _weights(kind)
    learned = _Bank(release[~aside], true[~aside], weight[~aside], 0, 0.0)
    tried = _mean_near(release[aside], learned, counts, PARTS)
    kinds = [kind[aside] == one for one in np.unique(kind)]
    unread = np.square(release[aside] - true[aside]).sum(axis=1)

    def left(found: Array) -> float:
        """Of the squared error of releases, for each kind alike."""
        errors = np.square(found - true[aside]).sum(axis=1)
        return float(sum(errors[one].sum() / max(unread[one].sum(), 1e-12) for one in kinds))

    best = {
        (k, part): left(one)
        for k, by_part in zip(counts, tried, strict=True)
        for part, one in zip(PARTS, by_part, strict=True)
    }
    return _Bank(release, true, weight, *min(best, key=lambda one: best[one]))


def _weights(kind: Array) -> Array:
    """Flat ones count `FLAT` together, others the rest; all alike where there is one sort only."""
    flat = kind == 0
    share = flat.mean()
    return np.where(flat, FLAT / share, (1 - FLAT) / (1 - share)) if 0 < share < 1 else np.ones(len(kind))


def drawn_scores(n_classes: int, draws: Draws, kinds: Kinds) -> Array:
    """Public score vectors of these kinds, by turns."""
    count = int(np.clip(SIMULATED // n_classes, FEWEST_ROWS, MOST_ROWS))
    spread = np.resize(kinds, count)[:, None]
    normal, flat = draws.normal((count, n_classes)), np.log(draws.exponential((count, n_classes)))
    return softmax(np.where(spread > 0, spread * normal, flat))


def _mean_near(rows: Array, bank: _Bank, counts: tuple[int, ...], parts: tuple[float, ...]) -> list[list[Array]]:
    """The mean scores behind near releases, by count and by part of the rest; the count-th nearest is far."""
    found: list[list[list[Array]]] = [[[] for _ in parts] for _ in counts]
    spread = _spread(bank.release)
    squares, most = np.square(spread).sum(axis=1), max(counts)
    for block in np.array_split(rows, -(-len(rows) // 256)):
        seen = _spread(block)
        apart = squares - 2 * seen @ spread.T
        near = np.argpartition(apart, most - 1, axis=1)[:, :most]
        near = np.take_along_axis(near, np.take_along_axis(apart, near, axis=1).argsort(axis=1), axis=1)
        distance = np.take_along_axis(apart, near, axis=1) + np.square(seen).sum(axis=1, keepdims=True)
        for kept, count in zip(found, counts, strict=True):
            weight = np.exp(-distance[:, :count] / np.maximum(distance[:, count - 1 : count], 1e-12))
            weight *= bank.weight[near[:, :count]]
            weight /= weight.sum(axis=1, keepdims=True)
            scores, release = (
                np.einsum("rn,rnk->rk", weight, one[near[:, :count]]) for one in (bank.scores, bank.release)
            )
            for each, part in zip(kept, parts, strict=True):
                each.append(scores + part * (block - release))
    return [[np.concatenate(blocks) for blocks in by_part] for by_part in found]


def _spread(release: Array) -> Array:
    """Releases on a scale on which small scores count too."""
    return np.asarray(np.log(np.maximum(release, 0.0) + RESOLVED))
