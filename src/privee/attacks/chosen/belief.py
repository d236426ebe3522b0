"""What an attacker believes about the unknown columns before any answer: a Gaussian made from auxiliary rows.

Columns are `guess + mapping @ y`, with y standard normal. How answers change that: `straight.py` where logits add up
from own and unknown columns, `particles.py` for any other model.
"""

from __future__ import annotations

import dataclasses
from typing import Protocol

import torch
from torch import Tensor

from privee.attacks.chosen.answers import Answer, Limits
from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView
from privee.attacks.white_box import WhiteBox

LARGEST = 96
"""Directions that a belief has at most; what is left of the spread stays as the guess has it."""
SMALLEST_VARIANCE = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class Prior:
    """Of n records.

    Attributes:
        guess: the columns expected before any answer, (n, columns).
        mapping: from directions to columns, (columns, directions).
    """

    guess: Tensor
    mapping: Tensor

    @property
    def directions(self) -> int:
        """How many numbers y has."""
        return self.mapping.shape[1]

    def columns(self, y: Tensor) -> Tensor:
        """The columns that directions stand for; (n, directions), or several for each record."""
        return (self.guess if y.ndim == 2 else self.guess[:, None]) + y @ self.mapping.T


class Belief(Protocol):
    """What is thought possible after some answers."""

    limits: Limits

    def expected(self) -> Tensor:
        """The columns with the smallest error to be expected, (n, columns)."""

    def points(self, count: int, generator: torch.Generator) -> Tensor:
        """What is possible, (n, count, ...), for `logits`."""

    def logits(self, own: Tensor, points: Tensor) -> Tensor:
        """What the model says with these own columns, (n, count, classes)."""

    def learn(self, answer: Answer, generator: torch.Generator) -> None:
        """Take one more answer in."""


def prior_of(view: AttackerView) -> Prior:
    """What own columns and auxiliary rows say; without such rows, anything in [0, 1]."""
    width, dtype = view.model.unknown_columns, view.own.dtype
    if view.auxiliary is None:
        guess, spread = torch.full((view.rows, width), 0.5, dtype=dtype), torch.eye(width, dtype=dtype) / 12
    else:
        fit = best_fit(view.auxiliary.own, view.auxiliary.unknown)
        guess = fit(view.own).clamp(0.0, 1.0)
        spread = spread_of(view.auxiliary.unknown - fit.out_of_sample(view.auxiliary.own))
    return Prior(guess, _directions(spread, view.model))


def spread_of(left: Tensor) -> Tensor:
    """Covariance of what a guess leaves, with a little added so that nothing is taken for certain."""
    spread = left.T @ left / len(left)
    little = 1e-3 * spread.diagonal().mean() + SMALLEST_VARIANCE
    return spread + little * torch.eye(len(spread), dtype=spread.dtype)


def _directions(spread: Tensor, model: WhiteBox) -> Tensor:
    """Of a logistic model those that move its logits, which are all it can tell; else where columns vary most."""
    if model.linear is not None and model.n_classes <= len(spread):
        slopes = model.linear - model.linear.mean(dim=0)
        values, vectors = torch.linalg.eigh(slopes @ spread @ slopes.T)
        kept = values > 1e-12 * values.max()
        return spread @ slopes.T @ (vectors[:, kept] / values[kept].sqrt())
    values, vectors = torch.linalg.eigh(spread)
    return vectors[:, -LARGEST:] * values[-LARGEST:].clamp_min(0.0).sqrt()
