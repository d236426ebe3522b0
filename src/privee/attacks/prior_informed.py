"""Prior-informed (MAP): match the scores, and stay near what auxiliary rows say the columns look like."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.guesses import ridge_fit
from privee.attacks.logs import SMALLEST, by_rank, in_rank_order
from privee.attacks.view import AttackerView, Auxiliary
from privee.errors import PriveeError


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
    summary: ClassVar[str] = "most likely columns given release and auxiliary rows"
    needs: ClassVar[Needs] = Needs(gradients=True, auxiliary=True)

    iterations: int = 400
    learning_rate: float = 0.02

    def _reconstruct(self, view: AttackerView) -> Tensor:
        rows = view.auxiliary
        if rows is None:
            raise PriveeError("the prior-informed attack needs auxiliary rows")
        problem = _Problem(view, rows, self.iterations, self.learning_rate)
        return problem.solve(view.own, view.target, self._trust_in_release(view, rows, problem))

    def _trust_in_release(self, view: AttackerView, rows: Auxiliary, problem: _Problem) -> float:
        """Errors of log-scores are neither Gaussian nor independent; how much to believe them is tried out.

        Zero, the guess itself, is among the candidates, so the attack is not worse than its guess but for chance.
        """
        if not view.adaptive:
            return 1.0
        held = torch.arange(0, len(rows), max(1, len(rows) // REHEARSALS))
        own, unknown = rows.own[held], rows.unknown[held]
        target = view.read(view.simulate(unknown, own, -1))
        errors = {trust: problem.error(own, target, unknown, trust) for trust in TRUSTS}
        return min(errors, key=errors.__getitem__)


class _Problem:
    """Score match plus prior, for any rows."""

    def __init__(self, view: AttackerView, rows: Auxiliary, iterations: int, learning_rate: float) -> None:
        self._model, self._iterations, self._learning_rate = view.model, iterations, learning_rate
        self._guess = ridge_fit(rows.own, rows.unknown, 1.0)
        self._precision = _precision(rows.unknown - self._guess(rows.own))
        self._bias, self._variance = _errors_by_rank(view, rows)

    def solve(self, own: Tensor, target: Tensor, trust: float) -> Tensor:
        """The most likely unknown columns."""
        start = self._guess(own)
        wanted = target.clamp_min(SMALLEST).log() - by_rank(self._bias, target)
        weight = trust / by_rank(self._variance, target)
        unknown = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([unknown], lr=self._learning_rate)
        for _ in range(self._iterations if trust else 0):
            optimizer.zero_grad()
            logs = torch.log_softmax(self._model.logits(own, unknown), dim=1).clamp_min(_LOWEST)
            off = unknown - start
            loss = (weight * (logs - wanted).square()).sum() + ((off @ self._precision) * off).sum()
            loss.backward()
            optimizer.step()
        return unknown.detach().clamp(0.0, 1.0)

    def error(self, own: Tensor, target: Tensor, truth: Tensor, trust: float) -> float:
        """Mean square error where the truth is known."""
        return float((self.solve(own, target, trust) - truth).square().mean())


REHEARSALS = 200
TRUSTS = (0.0, 0.01, 0.1, 0.3, 1.0)
_LOWEST = float(torch.tensor(SMALLEST, dtype=torch.float64).log())
SMALLEST_VARIANCE = 1e-6


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
    truth = view.model.scores(rows.own, rows.unknown).clamp_min(SMALLEST).log()
    errors = []
    for seed in range(simulations):
        read = view.read(view.simulate(rows.unknown, rows.own, seed))
        errors.append(in_rank_order(read.clamp_min(SMALLEST).log() - truth, read))
    joined = torch.cat(errors)
    # Many queries of one record average out, as far as they are independent.
    return joined.mean(dim=0), joined.var(dim=0) / len(view.releases) + SMALLEST_VARIANCE
