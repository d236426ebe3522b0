"""Prior-informed (MAP): match the scores, and stay near what auxiliary rows say the columns look like."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.descent import descend, in_turn, rows_at_once
from privee.attacks.log_scores import SMALLEST, by_rank, in_rank_order
from privee.attacks.registry import register
from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView, Auxiliary
from privee.attacks.watch import Watch
from privee.errors import PriveeError

REHEARSALS = 40
TRUSTS = (1e-4, 1e-3, 0.01, 0.1, 1.0)
SMALLEST_VARIANCE = 1e-6
_LOWEST = float(torch.tensor(SMALLEST, dtype=torch.float64).log())


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class PriorInformed(Attack):
    """Starts from the regression guess; the release pulls away from it as far as it can be trusted.

    The prior is Gaussian: the regression from own columns, and the covariance of what it leaves. The trust in each
    log-score, by rank position, is measured by simulating releases of the auxiliary rows (an attacker who ignores the
    defense trusts them all alike).

    Args:
        iterations: steps of Adam.
        learning_rate: of Adam.
    """

    name: ClassVar[str] = "prior-informed"
    place: ClassVar[int] = 50
    summary: ClassVar[str] = "most likely columns given release and auxiliary rows"
    needs: ClassVar[Needs] = Needs(gradients=True, auxiliary=True)
    audited: ClassVar[tuple[str, ...]] = ("prior-informed",)
    quick: ClassVar[bool] = True
    adapts: ClassVar[str] = "undoes what is public of the defense, and measures on its own copy how far to trust that"

    iterations: int = 400
    learning_rate: float = 0.02

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        rows = view.auxiliary
        if rows is None:
            raise PriveeError("the prior-informed attack needs auxiliary rows")
        problem = _Problem(view, rows, self.iterations, self.learning_rate, watch)
        trust = _trust_in_release(view, rows, problem) if view.adaptive else 1.0
        return problem.solve("columns", view.own, problem.guess(view.own), view.target, trust)


class _Problem:
    """Score match plus prior, for any rows."""

    def __init__(
        self, view: AttackerView, rows: Auxiliary, iterations: int, learning_rate: float, watch: Watch
    ) -> None:
        self._model, self._iterations, self._learning_rate, self.watch = view.model, iterations, learning_rate, watch
        self._at_once = rows_at_once(view.own.shape[1] + view.model.unknown_columns)
        self.guess = best_fit(rows.own, rows.unknown)
        self.rehearsed = self.guess.out_of_sample(rows.own)
        self._precision = _precision(rows.unknown - self.rehearsed)
        self._bias, self._variance = _errors_by_rank(view, rows)

    def steps(self, rows: int) -> int:
        """How many steps it takes to solve for this many records."""
        return self._iterations * len(in_turn(rows, self._at_once))

    def solve(self, stage: str, own: Tensor, start: Tensor, target: Tensor, trust: float | Tensor) -> Tensor:
        """The most likely unknown columns, from a guess on; the trust is that of all records, or of each (n, 1)."""
        wanted = target.clamp_min(SMALLEST).log() - by_rank(self._bias, target)
        weight = trust / by_rank(self._variance, target)

        def loss(part: slice, unknown: Tensor) -> Tensor:
            logs = torch.log_softmax(self._model.logits(own[part], unknown), dim=1).clamp_min(_LOWEST)
            off = unknown - start[part]
            return (weight[part] * (logs - wanted[part]).square()).sum() + ((off @ self._precision) * off).sum()

        return descend(
            start,
            loss,
            self.watch,
            stage=stage,
            epochs=self._iterations if weight.any() else 0,
            learning_rate=self._learning_rate,
            batch_size=self._at_once,
        ).clamp(0.0, 1.0)


def _trust_in_release(view: AttackerView, rows: Auxiliary, problem: _Problem) -> float:
    """Errors of log-scores are neither Gaussian nor independent; how much to believe them is tried out.

    Not at all, which leaves the guess itself, competes too, so the attack is not worse than its guess but for chance.
    """
    held = slice(0, None, max(1, len(rows) // REHEARSALS))
    some = rows.part(held)
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
    return (0.0, *TRUSTS)[int(errors.argmin())]


def _precision(left_over: Tensor) -> Tensor:
    """Inverse covariance of what the regression leaves, with a little added so that it exists."""
    covariance = left_over.T @ left_over / len(left_over)
    ridge = 1e-4 * covariance.diagonal().mean() + 1e-9
    return torch.linalg.inv(covariance + ridge * torch.eye(len(covariance), dtype=covariance.dtype))


def _errors_by_rank(view: AttackerView, rows: Auxiliary, simulations: int = 3) -> tuple[Tensor, Tensor]:
    """Mean and variance of the error in each log-score, by rank position."""
    if not view.adaptive:
        level = torch.zeros(view.model.n_classes, dtype=view.own.dtype)
        return level, level + 1e-2
    scores = rows.scores(view.model)
    expected = scores if rows.noise is None else rows.expected_scores(view.model)
    truth = expected.clamp_min(SMALLEST).log()
    errors = []
    for seed in range(simulations):
        read = view.simulate(rows.scores_again(view.model, scores, seed), seed).read
        errors.append(in_rank_order(read.clamp_min(SMALLEST).log() - truth, read))
    joined = torch.cat(errors)
    return joined.mean(dim=0), joined.var(dim=0) + SMALLEST_VARIANCE
