"""Guesses that need no release: what any attack has to beat."""

from __future__ import annotations

import torch
from torch import Tensor

from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView
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


def regression_guess(view: AttackerView) -> Tensor:
    """The best regression of the unknown columns on the own ones, from auxiliary rows."""
    if view.auxiliary is None:
        raise PriveeError("this guess needs auxiliary rows")
    return best_fit(view.auxiliary.own, view.auxiliary.unknown)(view.own).clamp(0.0, 1.0)
