"""The most likely unknown columns: match the scores as far as they can be trusted, and stay near what is expected.

The prior is Gaussian: the regression from own columns, and the covariance of what it leaves. What is matched are
log-scores, each with a bias and a variance by rank position, measured by simulating releases of rows known in full.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import torch
from torch import Tensor

from privee.attacks.descent import descend, in_turn, rows_at_once, through
from privee.attacks.log_scores import SMALLEST, by_rank, in_rank_order
from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView, Auxiliary
from privee.attacks.watch import Watch
from privee.attacks.white_box import WhiteBox

REHEARSALS = 40
TRUSTS = (1e-4, 1e-3, 0.01, 0.1, 1.0)
SMALLEST_VARIANCE = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class Through:
    """What is descended through, where it is not the model itself but something that was fitted to it.

    Attributes:
        model: it.
        smallest: scores below this count as this much.
        tested: auxiliary rows that it was not fitted to, by number.
    """

    model: WhiteBox
    smallest: float
    tested: Tensor


class Problem:
    """Score match plus prior, for any rows.

    Args:
        view: what the attacker knows.
        rows: known in full.
        iterations, learning_rate: of Adam.
        watch: sees every step.
        through: in place of the model, if given; how far it misses the model is then part of what is measured.
    """

    def __init__(
        self,
        view: AttackerView,
        rows: Auxiliary,
        iterations: int,
        learning_rate: float,
        watch: Watch,
        through: Through | None = None,
    ) -> None:
        self._iterations, self._learning_rate, self.watch = iterations, learning_rate, watch
        self._model, self._smallest = view.model, SMALLEST
        self._at_once = rows_at_once(view.own.shape[1] + view.model.unknown_columns)
        self.guess = best_fit(rows.own, rows.unknown)
        self.rehearsed = self.guess.out_of_sample(rows.own)
        self._precision = precision_of(rows.unknown - self.rehearsed)
        self.tested = rows
        if through is not None:
            self._model, self._smallest = through.model, through.smallest
            self.tested, self.rehearsed = rows.chosen(through.tested), self.rehearsed[through.tested]
        self.measures = view.adaptive or through is not None
        """Whether there is anything to measure: one who ignores the defense takes the model's scores for exact."""
        self._bias, self._variance = self._errors_by_rank(view)

    def steps(self, rows: int) -> int:
        """How many steps it takes to solve for this many records."""
        return steps_to_solve(rows, self._at_once, self._iterations)

    def solve(self, stage: str, own: Tensor, start: Tensor, target: Tensor, trust: float | Tensor) -> Tensor:
        """The most likely unknown columns, from a guess on; the trust is that of all records, or of each (n, 1)."""
        wanted = target.clamp_min(self._smallest).log() - by_rank(self._bias, target)
        weight = trust / by_rank(self._variance, target)
        twice, lowest = 2 * weight, math.log(self._smallest)

        def slopes(part: slice, unknown: Tensor) -> Tensor:
            """Of the weighted squares of what log-scores miss, and of how unlikely the columns are."""

            def pull(logits: Tensor) -> Tensor:
                logs = torch.log_softmax(logits, dim=1)
                off = (logs.clamp_min(lowest) - wanted[part]).mul_(twice[part]).mul_(logs > lowest)
                return off.sub_(logs.exp_().mul_(off.sum(dim=1, keepdim=True)))

            matched = through(self._model.logits(own[part], unknown), unknown, pull)
            return matched.addmm(unknown.detach() - start[part], self._precision, alpha=2.0)

        return descend(
            start,
            slopes,
            self.watch,
            stage=stage,
            epochs=self._iterations if weight.any() else 0,
            learning_rate=self._learning_rate,
            batch_size=self._at_once,
        ).clamp(0.0, 1.0)

    def _errors_by_rank(self, view: AttackerView, simulations: int = 3) -> tuple[Tensor, Tensor]:
        """Mean and variance of the error in each log-score, by rank position."""
        if not self.measures:
            level = torch.zeros(view.model.n_classes, dtype=view.own.dtype)
            return level, level + 1e-2
        scores = self.tested.scores(view.model)
        exact = self._model is view.model and self.tested.noise is None
        with torch.no_grad():
            matched = scores if exact else self.tested.expected_scores(self._model)
        truth = matched.clamp_min(self._smallest).log()
        errors = []
        for seed in range(simulations):
            read = view.simulate(self.tested.scores_again(view.model, scores, seed), seed).read
            errors.append(in_rank_order(read.clamp_min(self._smallest).log() - truth, read))
        joined = torch.cat(errors)
        return joined.mean(dim=0), joined.var(dim=0) + SMALLEST_VARIANCE


def rehearsed_rows(count: int) -> slice:
    """Of so many rows known in full, those on which an attack is tried out."""
    return slice(0, None, max(1, count // REHEARSALS))


def steps_to_solve(rows: int, at_once: int, iterations: int) -> int:
    """How many steps it takes for this many records."""
    return iterations * len(in_turn(rows, at_once))


def steps_in_all(view: AttackerView, tested: int, iterations: int) -> int:
    """Of an attack that first tries out how far to trust a release, on some of the rows that can be tested."""
    at_once = rows_at_once(view.own.shape[1] + view.model.unknown_columns)
    tried = len(TRUSTS) * len(range(tested)[rehearsed_rows(tested)])
    return steps_to_solve(tried, at_once, iterations) + steps_to_solve(view.rows, at_once, iterations)


class Trust(NamedTuple):
    """How far a release is believed, and the error that this gave on rows known in full."""

    share: float
    error: float


def trust_in_release(view: AttackerView, problem: Problem) -> Trust:
    """Errors of log-scores are neither Gaussian nor independent; how much to believe them is tried out.

    Not at all, which leaves the guess itself, competes too, so the attack is not worse than its guess but for chance.
    """
    held = rehearsed_rows(len(problem.tested))
    some = problem.tested.part(held)
    own, unknown = some.own, some.unknown
    problem.watch.expect(problem.steps(len(TRUSTS) * len(own)) + problem.steps(view.rows))
    target = view.simulate(some.scores(view.model), -1).read
    trusts = torch.tensor(TRUSTS, dtype=target.dtype)
    each = trusts.repeat_interleave(len(own))[:, None]
    guess = problem.rehearsed[held]
    owns, starts, targets = (tensor.repeat(len(TRUSTS), 1) for tensor in (own, guess, target))
    found = problem.solve("rehearsal", owns, starts, targets, each).view(len(TRUSTS), *unknown.shape)
    candidates = torch.cat([guess.clamp(0.0, 1.0)[None], found])
    errors = (candidates - unknown).square().mean(dim=(1, 2))
    best = int(errors.argmin())
    return Trust((0.0, *TRUSTS)[best], float(errors[best]))


def precision_of(left_over: Tensor) -> Tensor:
    """Inverse covariance of what the regression leaves, with a little added so that it exists."""
    covariance = left_over.T @ left_over / len(left_over)
    ridge = 1e-4 * covariance.diagonal().mean() + 1e-9
    return torch.linalg.inv(covariance + ridge * torch.eye(len(covariance), dtype=covariance.dtype))
