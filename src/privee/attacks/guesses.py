"""Guesses that need no release: what any attack has to beat."""

from __future__ import annotations

import torch
from torch import Tensor

from privee.attacks.view import AttackerView, Auxiliary
from privee.errors import PriveeError


def uniform_guess(view: AttackerView, seed: int = 0) -> Tensor:
    """Independent uniform numbers."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(view.rows, view.model.unknown_columns, generator=generator, dtype=view.own.dtype)


def mean_guess(view: AttackerView) -> Tensor:
    """The auxiliary rows' column means; one half where there are none."""
    if view.auxiliary is None:
        return torch.full((view.rows, view.model.unknown_columns), 0.5, dtype=view.own.dtype)
    return view.auxiliary.unknown.mean(dim=0).expand(view.rows, -1).clone()


def regression_guess(view: AttackerView, ridge: float = 1.0) -> Tensor:
    """Linear regression of the unknown columns on the own ones, from auxiliary rows."""
    rows = _needed(view.auxiliary)
    return ridge_fit(rows.own, rows.unknown, ridge)(view.own).clamp(0.0, 1.0)


class ridge_fit:  # noqa: N801 (reads as the function it is)
    """Ridge regression with an intercept that is not penalised."""

    def __init__(self, inputs: Tensor, outputs: Tensor, ridge: float) -> None:
        self._middle, self._level = inputs.mean(dim=0), outputs.mean(dim=0)
        centred = inputs - self._middle
        gram = centred.T @ centred + ridge * torch.eye(inputs.shape[1], dtype=inputs.dtype)
        self._slope = torch.linalg.solve(gram, centred.T @ (outputs - self._level))

    def __call__(self, inputs: Tensor) -> Tensor:
        """Predictions."""
        return self._level + (inputs - self._middle) @ self._slope


def _needed(auxiliary: Auxiliary | None) -> Auxiliary:
    if auxiliary is None:
        raise PriveeError("this guess needs auxiliary rows")
    return auxiliary
