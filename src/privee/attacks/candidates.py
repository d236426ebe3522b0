"""Candidates: made-up columns for every record, that the model itself is asked about, weighed by what was released.

For a model that can only be called this is what is exact: no network stands between. Candidates are what auxiliary rows
let expect; the more of them explain a release well, the closer their weighted mean comes.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import NamedTuple

import torch
from torch import Tensor

from privee.attacks.log_scores import by_rank, centred, in_rank_order
from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView, Auxiliary

REHEARSED = 40
"""Auxiliary rows that are asked about as if they were records, to see how far to believe a match."""
WIDTHS = (0.1, 0.3, 1.0, 3.0)
"""How far log-scores may be off, beside what the defense does to them; tried out."""
SMALLEST = (1e-5, 1e-3)
"""Scores below this count as this much; tried out."""
SIMULATIONS = 3
ASKED_AT_ONCE = 1 << 14


@dataclasses.dataclass(frozen=True, eq=False)
class Candidates:
    """Of records, and after them of some auxiliary rows.

    Attributes:
        own: (n, own columns).
        guess: what is expected without a release, (n, columns).
        unknown: (n, candidates, columns).
        scores: what the model says of each, (n, candidates, classes).
        truth: of the auxiliary rows.
        known: these rows, by number.
    """

    own: Tensor
    guess: Tensor
    unknown: Tensor
    scores: Tensor
    truth: Tensor
    known: Tensor

    def rows(self) -> Auxiliary:
        """All of them, one below the other."""
        n, each = self.unknown.shape[:2]
        return Auxiliary(self.own.repeat_interleave(each, dim=0), self.unknown.reshape(n * each, -1))


class Weighed(NamedTuple):
    """Columns of the records, and the error that the same gave on auxiliary rows."""

    unknown: Tensor
    error: float


def asked_candidates(view: AttackerView, rows: Auxiliary, calls: int) -> Candidates:
    """As many as so many calls of the model allow; drawn with torch's generator."""
    known = torch.arange(len(rows))[:: max(1, len(rows) // REHEARSED)]
    fit = best_fit(rows.own, rows.unknown)
    rehearsed = fit.out_of_sample(rows.own)
    guess = torch.cat([fit(view.own), rehearsed[known]])
    each = max(1, calls // len(guess))
    # What guesses miss of other rows: a known row's own would be the answer.
    others = torch.randint(len(rows) - 1, (len(known), each)) + 1
    drawn = torch.cat([torch.randint(len(rows), (view.rows, each)), (known[:, None] + others) % len(rows)])
    unknown = (guess[:, None] + (rows.unknown - rehearsed)[drawn]).clamp(0.0, 1.0)
    own = torch.cat([view.own, rows.own[known]])
    asked = Auxiliary(own.repeat_interleave(each, dim=0), unknown.flatten(0, 1))
    with torch.no_grad():
        parts = (asked.part(slice(k, k + ASKED_AT_ONCE)) for k in range(0, len(asked), ASKED_AT_ONCE))
        scores = torch.cat([part.scores(view.model) for part in parts])
    return Candidates(own, guess, unknown, scores.view(*unknown.shape[:2], -1), rows.unknown[known], known)


def weighed(view: AttackerView, rows: Auxiliary, candidates: Candidates) -> Weighed:
    """The weighted means that do best on the auxiliary rows; the guess itself competes too."""
    with torch.no_grad():
        scores = rows.scores(view.model)
    read = torch.cat([view.target, view.simulate(scores, -1).read[candidates.known]])
    best = Weighed(candidates.guess.clamp(0.0, 1.0), _missed(candidates, candidates.guess.clamp(0.0, 1.0)))
    for smallest in SMALLEST:
        noise = read_noise(view, scores, smallest)
        for width, adjusted in itertools.product(WIDTHS, (False, True)):
            found = _mean(candidates, read, by_rank(noise, read) + width**2, smallest, adjusted)
            best = min(best, Weighed(found, _missed(candidates, found)), key=lambda one: one.error)
    return best._replace(unknown=best.unknown[: view.rows])


def _missed(candidates: Candidates, found: Tensor) -> float:
    return float((found[len(found) - len(candidates.truth) :] - candidates.truth).square().mean())


def read_noise(view: AttackerView, scores: Tensor, smallest: float) -> Tensor:
    """Mean square of what is read wrongly of each log-score, by rank position."""
    truth = _logs(scores, smallest)
    reads = (view.simulate(scores, seed).read for seed in range(SIMULATIONS))
    return torch.cat([in_rank_order(_logs(read, smallest) - truth, read) for read in reads]).square().mean(dim=0)


def _mean(candidates: Candidates, read: Tensor, variance: Tensor, smallest: float, adjusted: bool) -> Tensor:
    """By weight; adjusted, along a straight line from where candidates are matched to the release itself."""
    n, each, classes = candidates.scores.shape
    logs = _logs(candidates.scores.reshape(n * each, classes), smallest).view(n, each, classes)
    off = (logs - _logs(read, smallest)[:, None]) / variance.sqrt()[:, None]
    weight = torch.softmax(-off.square().sum(dim=2) / 2, dim=1)[..., None]
    mean = (weight * candidates.unknown).sum(dim=1)
    if not adjusted:
        return mean
    middle = (weight * off).sum(dim=1, keepdim=True)
    tilted = (off - middle) * weight
    spread = tilted.mT @ (off - middle) + torch.eye(classes, dtype=off.dtype)
    slope = torch.linalg.solve(spread, tilted.mT @ (candidates.unknown - mean[:, None]))
    return (mean - (middle @ slope)[:, 0]).clamp(0.0, 1.0)


def _logs(scores: Tensor, smallest: float) -> Tensor:
    return centred(scores.clamp_min(smallest).log())
