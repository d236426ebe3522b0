"""How well an attack did, in figures that mean something, and the guesses without any release that it has to beat."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from privee.attacks.boosted_trees import learn_by_trees
from privee.attacks.column_learning import column_guess
from privee.attacks.logistic_regression import learn_linearly
from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView
from privee.errors import PriveeError


def feature_mse(estimate: Tensor, truth: Tensor) -> float:
    """The paper's definition: mean square over records and unknown columns."""
    return float((estimate - truth).square().mean())


def column_mse(estimate: Tensor, truth: Tensor) -> Tensor:
    """Mean square of each unknown column."""
    return (estimate - truth).square().mean(dim=0)


def guess_normalised(error: float, best_guess: float) -> float:
    """Error over that of the best guess made without the release: 1 means that the release gave nothing away."""
    return error / best_guess if best_guess > 0 else float("inf")


def attainable_protection(error: float, undefended: float, ranking: float) -> float:
    """(E - E_none) / (E_ranking - E_none): the share of what any order-preserving defense could protect.

    Each error is the smallest over all attacks and over the guesses that need no release.
    """
    room = ranking - undefended
    return (error - undefended) / room if room > 0 else float("nan")


def smallest(errors: Iterable[float]) -> float:
    """The headline: the error of the best attack."""
    return min(errors)


def uniform_guess(view: AttackerView, seed: int = 0) -> Tensor:
    """Guess every unknown value by an independent uniform number."""
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


def column_guesses(view: AttackerView) -> dict[str, Tensor]:
    """What the learners of attacks on single columns say without a release, from the same auxiliary rows."""
    learners = {"boosted-trees guess": learn_by_trees, "logistic guess": learn_linearly}
    return {name: column_guess(learner, view) for name, learner in learners.items()}
