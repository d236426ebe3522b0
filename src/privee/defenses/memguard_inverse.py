"""How far MemGuard moved scores back, from what it does to public ones.

Doubtful scores (flat, or softmax of normal logits with spread 1) are moved far, to where those of confident models are;
confident ones hardly. One release seldom says which it was, many of the same model do: those left as they are show what
its scores look like, and moved ones crowd elsewhere. So public scores of both kinds are released once, the share of
doubtful rows in a batch is estimated from how many of each kind lie near, and a row is moved back as neighbours of the
doubtful kind were moved, by how likely it is one. A release alone is taken for a confident model's unless it says more.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses.inverse import project_to_simplex
from privee.defenses.small_nets import softmax, synthetic_scores
from privee.randomness import Draws, seeded
from privee.scores import ascending, place

if TYPE_CHECKING:
    from privee.defenses.memguard import MemGuard

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_CLASSES = 128
"""With more the public releases take too long, and the release is all there is."""
SIMULATED, FEWEST, MOST = 40_000, 320, 1200
"""Scores in all, and vectors."""
NEAR, MOVED_NEAR = 32, 24
UNSURE = 0.03
"""No release is taken to be likelier of one kind than this leaves: the public ones are few."""
DOUBTFUL, SURE = 0.2, 3.8
"""As many rows of each kind are taken to have been seen beforehand."""
POWER = 2
"""Of how likely a row is doubtful: scores of a kind in between lie near both, and moving sure ones back costs most."""
STEPS, RESOLVED, BLOCK = 60, 1e-3, 512


class _Public(NamedTuple):
    """Releases in rising order, how far they were from the scores, of which kind those were, and which may be moved."""

    release: Array
    back: Array
    doubtful: Flags
    flagged: Flags


def moved_back(defense: MemGuard, rows: Array, flagged: Flags) -> Array:
    """Scores behind releases of one model; only those that may have been moved are."""
    public = _public(defense, rows.shape[1])
    if not flagged.any() or (public.doubtful & public.flagged).sum() < MOVED_NEAR:
        return rows
    order, rising = ascending(np.ascontiguousarray(rows))
    seen = np.asarray(rising, dtype=np.float64)
    blocks = np.array_split(np.arange(len(rows)), -(-len(rows) // BLOCK))
    found = [_near(seen[block], flagged[block], public) for block in blocks]
    odds, back = (np.concatenate(one) for one in zip(*found, strict=True))
    part = np.where(flagged, _doubtful(odds) ** POWER, 0.0)
    moved = np.asarray(place(order, project_to_simplex(seen + part[:, None] * back)), dtype=np.float64)
    return np.where(flagged[:, None], moved, rows)


def _near(rows: Array, flagged: Flags, public: _Public) -> tuple[Array, Array]:
    """Odds that a row is doubtful, were both kinds as frequent; and how far its doubtful neighbours were moved."""
    seen, known = _spread(rows), _spread(public.release)
    apart = np.square(seen).sum(axis=1)[:, None] + np.square(known).sum(axis=1) - 2 * seen @ known.T
    apart[flagged[:, None] != public.flagged] += 1e6
    at, weight = _nearest(apart, NEAR)
    share = np.clip((weight * public.doubtful[at]).sum(axis=1), UNSURE, 1 - UNSURE)
    moved = np.flatnonzero(public.doubtful & public.flagged)
    at, weight = _nearest(apart[:, moved], MOVED_NEAR)
    return share / (1 - share), np.einsum("rn,rnk->rk", weight, public.back[moved][at])


def _nearest(apart: Array, count: int) -> tuple[NDArray[np.intp], Array]:
    """The nearest of each row, and what each counts: the nearer the more."""
    at = np.argpartition(apart, count - 1, axis=1)[:, :count]
    near = np.maximum(np.take_along_axis(apart, at, axis=1), 0.0)
    weight = np.exp(-near / np.maximum(near.max(axis=1, keepdims=True), 1e-12))
    return at, weight / weight.sum(axis=1, keepdims=True)


def _doubtful(odds: Array) -> Array:
    """How likely each row is doubtful, with the share of such rows that explains all of them best."""
    share = 0.5
    for _ in range(STEPS):
        likely = share * odds / (share * odds + 1 - share)
        share = (DOUBTFUL + likely.sum()) / (DOUBTFUL + SURE + len(odds))
    return np.asarray(share * odds / (share * odds + 1 - share))


@functools.lru_cache(maxsize=16)
def _public(defense: MemGuard, n_classes: int) -> _Public:
    count = int(np.clip(SIMULATED // n_classes, FEWEST, MOST)) // 12
    scores = _public_scores(3 * count, 2 * count, n_classes, seeded(0, "memguard inverse", n_classes))
    made = defense.release(scores, draws=seeded(1, "memguard inverse", n_classes))
    order, rising = ascending(np.ascontiguousarray(made))
    release = np.asarray(rising, dtype=np.float64)
    doubtful = np.arange(len(scores)) < 6 * count
    return _Public(release, scores.reshape(-1)[order] - release, doubtful, np.asarray(defense.was_moved(made)))


def _public_scores(doubtful: int, sure: int, n_classes: int, draws: Draws) -> Array:
    """Of each of the two doubtful kinds, and of each of the three that are not."""
    from scipy.special import gammaincinv  # here, so that importing privee stays fast

    flat = softmax(np.log(draws.exponential((doubtful, n_classes))))
    few = np.maximum(gammaincinv(0.3, draws.uniform((sure, n_classes))), 1e-12)
    kinds = [flat, synthetic_scores(doubtful, n_classes, 1.0, draws), few / few.sum(axis=1, keepdims=True)]
    return np.concatenate([*kinds, *(synthetic_scores(sure, n_classes, spread, draws) for spread in (3.0, 8.0))])


def _spread(release: Array) -> Array:
    """On a scale on which small scores count too."""
    return np.asarray(np.log(np.maximum(release, 0.0) + RESOLVED))
