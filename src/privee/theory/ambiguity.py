"""What one release hides (paper, appendix A, part 3). All statements are for scores that sum to one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses.rank_noise import RankNoise
from privee.errors import PriveeError
from privee.scores import ranking, to_rows

Array = NDArray[np.float64]


class Ambiguity(NamedTuple):
    """Other scores that could have led to the same release."""

    scores: Array
    draws: Array
    radius: float
    classes: tuple[int, int]


def by_class(by_rank: Array, scores: Any) -> Array:
    """Place values given by rank position (leading class first) where each row's classes are."""
    rows, form = to_rows(scores)
    placed = np.empty(rows.shape)
    order = ranking(rows)
    np.put_along_axis(placed, order, np.broadcast_to(by_rank, rows.shape), axis=1)
    return placed[0] if form.one_vector else placed


def reconstruction_interval(release: Any, defense: RankNoise) -> tuple[Array, Array]:
    """Theorem 2: c_j lies in [(p_j + 2/K) / (1 + sigma U_j), (p_j + 2/K) / (1 + sigma L_j)].

    The ranking, hence the interval [L_j, U_j] of each draw, can be read off the release. For A = I the 2/K is absent;
    for PRIVEE-U+ sigma is that of the rank position. In floating point the ends carry the rounding of p + 2/K, which
    is all that is left of scores below about 1e-17 (float64) or 1e-8 (float32).
    """
    rows, form = to_rows(release)
    public = defense.intervals(rows.shape[1])
    kept = np.maximum(rows + public.shift, 0.0)
    low, high = kept / by_class(public.factor_high, rows), kept / by_class(public.factor_low, rows)
    return (low[0], high[0]) if form.one_vector else (low, high)


def other_scores(scores: Any, release: Any, defense: RankNoise) -> Ambiguity:
    """Theorem 3: with probability one another score vector gives the same release; this returns one.

    Moving a little probability between two classes can be undone by moving their draws within their intervals. The
    theorem's printed radius (see `printed_radius`) forgets that the other vector must also have the same ranking,
    since the ranking assigns the intervals; here a class may use up at most half the gap to its neighbours. For the
    same reason the statement needs scores without ties, and without zeros, whose interval is a point.

    Returns:
        The other scores, the draws that lead from them to the release, the radius within which every shift between
        the two chosen classes works, and those classes (the one that gains, the one that loses).
    """
    c, p = (to_rows(x)[0][0].astype(np.float64) for x in (scores, release))
    low, high = reconstruction_interval(p, defense)
    order = ranking(c)
    gaps = np.concatenate([[np.inf], -np.diff(c[order]), [np.inf]]) / 2
    up, down = np.empty_like(c), np.empty_like(c)
    up[order], down[order] = gaps[:-1], gaps[1:]
    up, down = np.minimum(up, high - c), np.minimum(down, c - low)
    gains, loses = _best_pair(up, down)
    radius = float(min(up[gains], down[loses]))
    if radius <= 0:
        raise PriveeError("no room to move: these scores have ties or zeros, or rounding has eaten the intervals")
    other = c.copy()
    other[gains] += radius / 2
    other[loses] -= radius / 2
    public = defense.intervals(len(c))
    draws = ((p + public.shift) / other - 1.0) / by_class(public.sigma, c)
    return Ambiguity(other, draws, radius, (gains, loses))


def printed_radius(scores: Any, release: Any, defense: RankNoise, gains: int, loses: int) -> float:
    """The radius as printed with Theorem 3: the least distance of the two scores to the ends of their intervals.

    Too large in general: within it, two neighbours can change places, and then no draws lead to the same release.
    """
    c = to_rows(scores)[0][0]
    low, high = reconstruction_interval(to_rows(release)[0][0], defense)
    rooms = [room for j in (gains, loses) for room in (high[j] - c[j], c[j] - low[j])]
    return float(min(rooms))


def _best_pair(up: Array, down: Array) -> tuple[int, int]:
    """Two different classes that can gain and lose most."""
    gains, loses = (np.argsort(-room, kind="stable")[:2] for room in (up, down))
    pairs = [(int(a), int(b)) for a in gains for b in loses if a != b]
    return max(pairs, key=lambda pair: min(up[pair[0]], down[pair[1]]))
