"""Values that other rows have, weighed by all answers: columns that are 0 or 1, or one of a few, are no Gaussian.

A belief that is a Gaussian cut by planes says of a category what lies between its values. Unknown columns of rows that
the attacker knows in full are possible as they stand; of few possible values the answers leave one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from privee.attacks.chosen.answers import Answer
from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView

MOST = 1000
"""So many rows lend their values."""
SOFTNESS = (0.01, 0.05, 0.2)
"""How far an answer may be missed, in units of how far rows differ about it; tried out."""
LEFT, SURELY = 0.6, 1.0
"""Values are taken for a column where they leave less than this share of the error on rehearsed rows, and gain more
there than so many standard errors."""


class Values:
    """What answers leave of the unknown columns that other rows have.

    Args:
        view: the attacker's, with rehearsed rows as its last records; they are none of its auxiliary rows.
        guess: of these records.
    """

    def __init__(self, view: AttackerView, guess: Tensor) -> None:
        rows = view.auxiliary
        assert rows is not None  # noqa: S101 (nothing is rehearsed without)
        some = rows.part(slice(MOST))
        fit = best_fit(rows.own, rows.unknown)
        there = fit.out_of_sample(rows.own)
        spread = (rows.unknown - there).std(dim=0) + 1e-9
        self._model, self._unknown = view.model, some.unknown
        alike = torch.cdist(guess / spread, there[: len(some)] / spread).square()
        self._likely = [-alike / 2 for _ in SOFTNESS]

    def learn(self, answer: Answer) -> None:
        """One more answer, of every softness."""
        points = self._unknown[None].expand(len(answer.own), -1, -1)
        with torch.no_grad():
            logits = self._model.logits_at(answer.own, points)
        gaps = answer.gaps(logits)
        wide = gaps.std(dim=1, keepdim=True) + 1e-12
        for k, softness in enumerate(SOFTNESS):
            shown = torch.nn.functional.logsigmoid(gaps / (softness * wide))
            self._likely[k] = self._likely[k] + torch.where(answer.shown[:, None], shown, 0.0).sum(dim=2)
            if answer.reading is not None:
                off = answer.reading.sums(logits) - answer.reading.value[:, None]
                precision = answer.reading.precision[:, None]
                noise = 1 / precision.clamp_min(1e-30) + (softness * off.std(dim=1, keepdim=True)).square()
                self._likely[k] = self._likely[k] - torch.where(precision > 0, off.square() / noise, 0.0).sum(dim=2) / 2

    def where_better(self, found: Tensor, rehearsed: Tensor) -> Tensor:
        """These estimates, or of a column what values say if that is surely nearer to the last rows, known in full."""
        last = len(rehearsed)
        best = found
        for likely in self._likely:
            mean = (torch.softmax(likely, dim=1) @ self._unknown).clamp(0.0, 1.0)
            before, after = ((estimate[-last:] - rehearsed).square() for estimate in (best, mean))
            gained = before - after
            surely = gained.mean(dim=0) > SURELY * gained.std(dim=0) / last**0.5
            best = torch.where(surely & (after.mean(dim=0) < LEFT * before.mean(dim=0)), mean, best)
        return best
