"""Equation solving: log-ratios of a logistic model's scores are linear in the unknown columns."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.log_scores import centred
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch

SMALLEST = 1e-300


@dataclasses.dataclass(frozen=True)
class EquationSolving(Attack):
    """Exact on undefended scores when there are fewer unknown columns than classes; least squares otherwise."""

    name: ClassVar[str] = "equation-solving"
    summary: ClassVar[str] = "pseudo-inverse of the logistic model's log-ratios"
    needs: ClassVar[Needs] = Needs(linear_model=True)

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        assert view.model.linear is not None  # noqa: S101 (why_not has checked)
        log_scores = view.target.clamp_min(SMALLEST).log()
        own_part = view.model.logits(view.own, torch.zeros(view.rows, view.model.unknown_columns, dtype=view.own.dtype))
        wanted = centred(log_scores - own_part)
        solution = wanted @ torch.linalg.pinv(centred(view.model.linear.T)).to(wanted.dtype)
        return solution.clamp(0.0, 1.0)
