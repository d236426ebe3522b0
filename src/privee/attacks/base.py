"""The contract every attack keeps."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from privee.attacks.view import AttackerView


@dataclasses.dataclass(frozen=True, kw_only=True)
class Needs:
    """What an attack needs to make sense."""

    gradients: bool = False
    linear_model: bool = False
    auxiliary: bool = False
    queries: int = 1


@dataclasses.dataclass(frozen=True, eq=False)
class Reconstruction:
    """The unknown columns as the attacker sees them, and how well they explain what was released."""

    unknown: Tensor
    residual: float


class Attack(ABC):
    """Reconstructs the unknown columns from what an `AttackerView` holds."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    needs: ClassVar[Needs] = Needs()

    def why_not(self, view: AttackerView) -> str | None:
        """Why this attack makes no sense on this view, or None if it does."""
        if self.needs.linear_model and view.model.linear is None:
            return "needs a logistic model"
        if self.needs.auxiliary and view.auxiliary is None:
            return "needs auxiliary rows"
        if self.needs.gradients and not view.model.differentiable:
            return "the model is not differentiable"
        if len(view.releases) < self.needs.queries:
            return f"needs {self.needs.queries} queries per record"
        return None

    def run(self, view: AttackerView, *, seed: int = 0) -> Reconstruction:
        """Attack; the same seed gives the same reconstruction."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            unknown = self._reconstruct(view)
        return Reconstruction(unknown, confidence_residual(view, unknown))

    @abstractmethod
    def _reconstruct(self, view: AttackerView) -> Tensor:
        """The unknown columns, (n, columns)."""

    def settings(self) -> dict[str, Any]:
        """The settings as plain values."""
        return {"name": self.name} | dataclasses.asdict(self)  # type: ignore[call-overload]


def confidence_residual(view: AttackerView, unknown: Tensor) -> float:
    """The paper's printed figure: mean square of model scores minus released values, over records and classes."""
    with torch.no_grad():
        scores = view.model.scores(view.own, unknown)
    return float((scores - view.releases).square().mean())
