"""A public inverse by simulation, for defenses that have no closed one: what releases that look like this one were off by.

Anyone can draw scores, release them with the public settings and see how far each release is from its scores. The
estimate is the release plus the mean of that over simulated releases near it, position by position (classes in the order
of the release). How near, and how much of it to believe, is decided on simulated releases that were kept aside. Scores
are drawn from Dirichlet distributions: flat ones, which estimates assume elsewhere too, and those of confident models.
An attacker with auxiliary rows knows typical scores better; that is for the attacks, which simulate too.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses.base import Defense
from privee.defenses.inverse import project_to_simplex
from privee.randomness import Draws, seeded
from privee.scores import ascending, place

Array = NDArray[np.float64]

SIMULATED = 1 << 18
"""Scores in all: so many classes, so many fewer vectors."""
MOST_ROWS, FEWEST_ROWS = 3000, 60
CONCENTRATIONS = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.3, 0.1)
NEIGHBOURS = (8, 32, 128)
TRUST = (0.0, 0.5, 1.0)


class _Bank(NamedTuple):
    """Releases in ascending order, what their scores were more than that, and how to use them."""

    release: Array
    missed: Array
    neighbours: int
    trust: float


def simulated_inverse(defense: Defense, rows: Array) -> Array:
    """Scores behind releases of a defense, by its public settings alone."""
    bank = _bank(defense.public_copy(), rows.shape[1])
    order, values = ascending(np.ascontiguousarray(rows))
    found = values + bank.trust * _mean_missed(values, bank.release, bank.missed, (bank.neighbours,))[0]
    if defense.preserves_order:
        found.sort(axis=1)  # the scores rise in this order, and sorting comes nearer to whatever rises
    return place(order, project_to_simplex(found))


@functools.lru_cache(maxsize=16)
def _bank(defense: Defense, n_classes: int) -> _Bank:
    scores = drawn_scores(n_classes, seeded(0, "simulated inverse", n_classes))
    released = defense.release(scores, draws=seeded(1, "simulated inverse", n_classes)).astype(np.float64)
    order, release = ascending(released)
    missed = scores.reshape(-1)[order] - release
    aside = np.arange(len(scores)) % len(CONCENTRATIONS) == 0  # flat ones, as estimates assume elsewhere
    counts = tuple(k for k in NEIGHBOURS if k < len(scores) // 4)
    tried = _mean_missed(release[aside], release[~aside], missed[~aside], counts)
    truth = missed[aside]
    errors = {
        (float(np.square(truth - trust * one).sum()), count, trust)
        for count, one in zip(counts, tried, strict=True)
        for trust in TRUST
    }
    _, neighbours, trust = min(errors)
    return _Bank(release, missed, neighbours, trust)


def drawn_scores(n_classes: int, draws: Draws) -> Array:
    """Public score vectors: Dirichlet with several concentrations, by turns."""
    from scipy.special import gammaincinv  # here, so that importing privee stays fast

    count = int(np.clip(SIMULATED // n_classes, FEWEST_ROWS, MOST_ROWS))
    shapes = np.resize(CONCENTRATIONS, count)[:, None]
    parts = gammaincinv(shapes, draws.open_uniform((count, n_classes))) + 1e-12
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))


def _mean_missed(rows: Array, release: Array, missed: Array, counts: tuple[int, ...]) -> list[Array]:
    """The mean over the nearest simulated releases, for each number of them; a block of rows at a time."""
    found: list[list[Array]] = [[] for _ in counts]
    squares = np.square(release).sum(axis=1)
    for block in np.array_split(rows, -(-len(rows) // 256)):
        near = np.argsort(squares - 2 * block @ release.T, axis=1)[:, : max(counts)]
        for kept, count in zip(found, counts, strict=True):
            kept.append(missed[near[:, :count]].mean(axis=1))
    return [np.concatenate(parts) for parts in found]
