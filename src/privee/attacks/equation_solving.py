"""Equation solving: log-ratios of a logistic model's scores are linear in the unknown columns."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from privee.attacks.base import LUO, Attack, Needs
from privee.attacks.log_scores import centred
from privee.attacks.registry import register
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch

SMALLEST = 1e-300


@register
@dataclasses.dataclass(frozen=True)
class EquationSolving(Attack):
    """Exact on undefended scores when there are fewer unknown columns than classes; least squares otherwise."""

    name: ClassVar[str] = "equation-solving"
    place: ClassVar[int] = 10
    summary: ClassVar[str] = "pseudo-inverse of the logistic model's log-ratios"
    needs: ClassVar[Needs] = Needs(linear_model=True)
    reads_only: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ("equation-solving",)
    quick: ClassVar[bool] = True
    published: ClassVar[str] = LUO

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        assert view.model.linear is not None  # noqa: S101 (why_not has checked)
        log_scores = view.target.clamp_min(SMALLEST).log()
        own_part = view.model.logits(view.own, torch.zeros(view.rows, view.model.unknown_columns, dtype=view.own.dtype))
        wanted = centred(log_scores - own_part)
        solution = wanted @ torch.linalg.pinv(centred(view.model.linear.T)).to(wanted.dtype)
        return solution.clamp(0.0, 1.0)
