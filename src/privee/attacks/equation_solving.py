"""Equation solving: log-ratios of a logistic model's scores are linear in the unknown columns.

K classes give K - 1 equations. Where more columns are unknown, what they say nothing about stays where it started: at
zero in Luo's form, in the middle of [0, 1] in Rassouli's (half-point).
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from privee.attacks.base import LUO, Attack, Needs
from privee.attacks.log_scores import centred
from privee.attacks.registry import register
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch
from privee.errors import SettingError

SMALLEST = 1e-300
STARTS = {"zero": 0.0, "half": 0.5}
RASSOULI = 'Rassouli, Varasteh and Gunduz, "Privacy against inference attacks in vertical federated learning", 2022'


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class EquationSolving(Attack):
    """Exact on undefended scores when there are fewer unknown columns than classes; else the solution nearest to start.

    Args:
        start: "zero" as published by Luo; "half" is Rassouli's half-point, 1/2 + A^+ (b - A/2).
    """

    name: ClassVar[str] = "equation-solving"
    place: ClassVar[int] = 10
    summary: ClassVar[str] = "pseudo-inverse of the logistic model's log-ratios"
    needs: ClassVar[Needs] = Needs(linear_model=True)
    reads_only: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ("equation-solving", "equation-solving:start=half")
    quick: ClassVar[bool] = True
    published: ClassVar[str] = f"{LUO}; start=half: {RASSOULI}"

    start: Literal["zero", "half"] = "zero"

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise SettingError(f"start must be 'zero' or 'half', got {self.start!r}")

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        return nearest_solution(view, STARTS[self.start]).clamp(0.0, 1.0)


class Equations(NamedTuple):
    """`unknown @ slopes` is `values`, for each record: slopes (columns, classes), values (n, classes)."""

    slopes: Tensor
    values: Tensor


def equations_of(view: AttackerView, at: float = 0.0) -> Equations:
    """What the scores, as the attacker reads them, say of the unknown columns less `at`."""
    assert view.model.linear is not None  # noqa: S101 (why_not has checked)
    middle = torch.full((view.rows, view.model.unknown_columns), at, dtype=view.own.dtype)
    log_scores = view.target.clamp_min(SMALLEST).log()
    return Equations(centred(view.model.linear.T), centred(log_scores - view.model.logits(view.own, middle)))


def nearest_solution(view: AttackerView, at: float) -> Tensor:
    """Of all columns that solve the equations (or miss them least), those nearest to `at`; not kept in [0, 1]."""
    slopes, values = equations_of(view, at)
    return at + values @ torch.linalg.pinv(slopes).to(values.dtype)
