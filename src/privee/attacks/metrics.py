"""How well an attack did, in figures that mean something."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor


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
