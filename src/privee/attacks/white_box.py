"""The joint model as a white box: a function from the attacker's columns and the unknown ones to logits."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.vfl.joint_model import JointModel

Shape = tuple[int, ...]


class WhiteBox:
    """Logits from flat rows of own and unknown columns. Parameters are frozen copies; no data is held.

    Args:
        logits: differentiable function of (own, unknown), both (n, columns).
        own_columns: how many columns the attacker holds.
        unknown_columns: how many the passive parties hold together.
        n_classes: how many logits there are.
        weights: for logistic models, the (classes, columns) weights of all columns, the attacker's first.
    """

    def __init__(
        self,
        logits: Callable[[Tensor, Tensor], Tensor],
        *,
        own_columns: int,
        unknown_columns: int,
        n_classes: int,
        weights: Tensor | None = None,
    ) -> None:
        self._logits = logits
        self.own_columns, self.unknown_columns, self.n_classes = own_columns, unknown_columns, n_classes
        self._weights = weights

    @property
    def linear(self) -> Tensor | None:
        """A logistic model's (classes, columns) weights of the unknown columns, which equation solving uses."""
        return None if self._weights is None else self._weights[:, self.own_columns :]

    def regrouped(self, known: int) -> WhiteBox:
        """The same model for an attacker who holds the first `known` of all columns."""
        return WhiteBox(
            _Regrouped(self._logits, self.own_columns),
            own_columns=known,
            unknown_columns=self.own_columns + self.unknown_columns - known,
            n_classes=self.n_classes,
            weights=self._weights,
        )

    def logits(self, own: Tensor, unknown: Tensor) -> Tensor:
        """The joint model's logits; checked, because a broken model makes every attack's number meaningless."""
        logits = self._logits(own, unknown)
        if logits.shape != (len(own), self.n_classes):
            raise PriveeError(
                f"the model gave logits of shape {tuple(logits.shape)}, expected {self.n_classes} classes"
            )
        if not torch.isfinite(logits).all():
            raise PriveeError("the model gave logits that are not finite numbers")
        return logits

    def scores(self, own: Tensor, unknown: Tensor) -> Tensor:
        """The model's class confidences for these columns."""
        return torch.softmax(self.logits(own, unknown), dim=1)

    @property
    def differentiable(self) -> bool:
        """Do gradients reach the unknown columns?"""
        unknown = torch.full((1, self.unknown_columns), 0.5, dtype=torch.float64, requires_grad=True)
        try:
            logits = self._logits(torch.full((1, self.own_columns), 0.5, dtype=torch.float64), unknown)
            logits.sum().backward()
        except RuntimeError:
            return False
        return unknown.grad is not None


def white_box_of(joint: JointModel) -> WhiteBox:
    """A white box of a trained joint model, in double precision; the active party is the attacker.

    Convolutions stay in single precision, in which they were trained: in double they take twice as long.
    """
    bottoms = [_in_its_precision(copy.deepcopy(party.learner.model)).eval() for party in joint.parties]
    top = copy.deepcopy(joint.coordinator.learner.model).double().eval()
    shapes = [tuple(party._features.shape[1:]) for party in joint.parties]
    for module in (*bottoms, top):
        module.requires_grad_(requires_grad=False)
    sizes = [math.prod(shape) for shape in shapes]
    n_classes = _count_classes(bottoms, top, shapes)
    return WhiteBox(
        _Logits(bottoms, top, shapes),
        own_columns=sizes[0],
        unknown_columns=sum(sizes[1:]),
        n_classes=n_classes,
        weights=_linear_weights(bottoms),
    )


class _SinglePrecision(nn.Module):
    """A module that takes and gives doubles and computes in single precision."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module.float()

    def forward(self, rows: Tensor) -> Tensor:
        found: Tensor = self.module(rows.float())
        return found.double()


def _in_its_precision(bottom: nn.Module) -> nn.Module:
    convolves = any(isinstance(module, nn.Conv2d) for module in bottom.modules())
    return _SinglePrecision(bottom) if convolves else bottom.double()


class _Logits:
    """Splits flat rows among the parties' modules."""

    def __init__(self, bottoms: Sequence[nn.Module], top: nn.Module, shapes: Sequence[Shape]) -> None:
        self._bottoms, self._top, self._shapes = bottoms, top, shapes
        self._sizes = [math.prod(shape) for shape in shapes]

    def __call__(self, own: Tensor, unknown: Tensor) -> Tensor:
        flat = [own, *unknown.split(self._sizes[1:], dim=1)]
        parts = [x.reshape(len(x), *shape) for x, shape in zip(flat, self._shapes, strict=True)]
        logits: Tensor = self._top([bottom(x) for bottom, x in zip(self._bottoms, parts, strict=True)])
        return logits


class _Regrouped:
    """Another cut between known and unknown columns."""

    def __init__(self, logits: Callable[[Tensor, Tensor], Tensor], own_columns: int) -> None:
        self._logits, self._own_columns = logits, own_columns

    def __call__(self, own: Tensor, unknown: Tensor) -> Tensor:
        columns = torch.cat([own, unknown], dim=1)
        return self._logits(columns[:, : self._own_columns], columns[:, self._own_columns :])


def _count_classes(bottoms: Sequence[nn.Module], top: nn.Module, shapes: Sequence[Shape]) -> int:
    with torch.no_grad():
        zeros = [
            bottom(torch.zeros(1, *shape, dtype=torch.float64)) for bottom, shape in zip(bottoms, shapes, strict=True)
        ]
        return int(top(zeros).shape[1])


def _linear_weights(bottoms: Sequence[nn.Module]) -> Tensor | None:
    """All columns' weights if every part is one linear layer without bias, added up."""
    weights = []
    for bottom in bottoms:
        layers = [m for m in bottom.modules() if not isinstance(m, nn.Sequential | nn.Flatten)]
        layer = layers[0] if len(layers) == 1 else None
        if not isinstance(layer, nn.Linear) or "bias" in dict(layer.named_parameters()):
            return None
        weights.append(layer.weight.detach().clone())
    return torch.cat(weights, dim=1)
