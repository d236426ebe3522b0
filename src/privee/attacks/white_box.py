"""The joint model as a white box: a function from the attacker's columns and the unknown ones to logits."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.vfl.joint_model import JointModel
from privee.vfl.models import Scaling

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

    @property
    def own_linear(self) -> Tensor | None:
        """A logistic model's (classes, columns) weights of the attacker's own columns."""
        return None if self._weights is None else self._weights[:, : self.own_columns]

    def regrouped(self, known: int) -> WhiteBox:
        """The same model for an attacker who holds the first `known` of all columns."""
        return WhiteBox(
            _Regrouped(self._logits, self.own_columns),
            own_columns=known,
            unknown_columns=self.own_columns + self.unknown_columns - known,
            n_classes=self.n_classes,
            weights=self._weights,
        )

    def swapped(self) -> WhiteBox:
        """The same model for the other side: who held the unknown columns asks about those that were the attacker's."""
        weights = None if self._weights is None else self._weights.roll(self.unknown_columns, dims=1)
        return WhiteBox(
            _Swapped(self._logits),
            own_columns=self.unknown_columns,
            unknown_columns=self.own_columns,
            n_classes=self.n_classes,
            weights=weights,
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

    def logits_at(self, own: Tensor, unknown: Tensor) -> Tensor:
        """For each record several unknown columns that it might have, (n, points, columns): (n, points, classes)."""
        return self.logits_at_each([own], unknown)[0]

    def logits_at_each(self, owns: Sequence[Tensor], unknown: Tensor) -> list[Tensor]:
        """The same with several own rows of each record in turn; what unknown columns give is worked out once."""
        n, points, width = unknown.shape
        rows = unknown.reshape(n * points, width)
        if isinstance(self._logits, _Logits):
            found = self._logits.repeated(owns, rows, points)
        else:
            found = [self.logits(own.repeat_interleave(points, dim=0), rows) for own in owns]
        return [logits.reshape(n, points, self.n_classes) for logits in found]

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
    """A white box of a trained joint model; the active party is the attacker.

    It takes and gives doubles. A logistic model computes in them, since its equations can be solved to the last digit;
    any other keeps the single precision in which it was trained, and takes half the time.
    """
    bottoms = [copy.deepcopy(party.learner.model).eval() for party in joint.parties]
    top = copy.deepcopy(joint.coordinator.learner.model).eval()
    shapes = [tuple(party._features.shape[1:]) for party in joint.parties]
    weights = _linear_weights(bottoms)
    for module in (*bottoms, top):
        module.requires_grad_(requires_grad=False)
        if weights is not None:
            module.double()
    sizes = [math.prod(shape) for shape in shapes]
    logits = _Logits(bottoms, top, shapes)
    return WhiteBox(
        logits,
        own_columns=sizes[0],
        unknown_columns=sum(sizes[1:]),
        n_classes=_count_classes(logits, sizes),
        weights=weights,
    )


class _Logits:
    """Splits flat rows among the parties' modules, in the precision that these have."""

    def __init__(self, bottoms: Sequence[nn.Module], top: nn.Module, shapes: Sequence[Shape]) -> None:
        self._bottoms, self._top, self._shapes = bottoms, top, shapes
        self._sizes = [math.prod(shape) for shape in shapes]
        self._precision = next((p.dtype for bottom in bottoms for p in bottom.parameters()), torch.float32)
        self._last_own: tuple[Tensor, int, Tensor] | None = None

    def __call__(self, own: Tensor, unknown: Tensor) -> Tensor:
        descends = torch.is_grad_enabled() and unknown.requires_grad and not own.requires_grad
        return self._joined(self._of_own(own) if descends else self._embedded(own), self._unknown_parts(unknown))

    def repeated(self, owns: Sequence[Tensor], unknown: Tensor, times: int) -> list[Tensor]:
        """Each own row with as many unknown ones that follow each other; for several own rows in turn."""
        parts = self._unknown_parts(unknown)
        return [self._joined(self._embedded(own).repeat_interleave(times, dim=0), parts) for own in owns]

    def _unknown_parts(self, unknown: Tensor) -> list[Tensor]:
        flat = unknown.to(self._precision).split(self._sizes[1:], dim=1)
        passive = zip(self._bottoms[1:], flat, self._shapes[1:], strict=True)
        return [bottom(x.reshape(len(x), *shape)) for bottom, x, shape in passive]

    def _joined(self, own_part: Tensor, parts: Sequence[Tensor]) -> Tensor:
        logits: Tensor = self._top([own_part, *parts])
        return logits.double()

    def _of_own(self, own: Tensor) -> Tensor:
        """The attacker's own part, which thousands of steps of a descent ask for with the same columns.

        Nothing is kept of other calls: where columns are cut anew, what is `own` here may hold a truth.
        """
        last = self._last_own
        if last is None or not _is_same(own, last[0], last[1]):
            self._last_own = last = (own, own._version, self._embedded(own))
        return last[2]

    def _embedded(self, own: Tensor) -> Tensor:
        found: Tensor = self._bottoms[0](own.to(self._precision).reshape(len(own), *self._shapes[0]))
        return found

    def __getstate__(self) -> dict[str, Any]:
        """What was worked out last holds somebody's columns and stays here."""
        return self.__dict__ | {"_last_own": None}


def _is_same(one: Tensor, other: Tensor, version: int) -> bool:
    """The same place in memory, not written to since; whoever keeps `other` keeps that place from being used anew."""
    return (
        one.data_ptr() == other.data_ptr()
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.dtype == other.dtype
        and one._version == version
    )


class _Regrouped:
    """Another cut between known and unknown columns."""

    def __init__(self, logits: Callable[[Tensor, Tensor], Tensor], own_columns: int) -> None:
        self._logits, self._own_columns = logits, own_columns

    def __call__(self, own: Tensor, unknown: Tensor) -> Tensor:
        columns = torch.cat([own, unknown], dim=1)
        return self._logits(columns[:, : self._own_columns], columns[:, self._own_columns :])


class _Swapped:
    """Own columns for unknown ones."""

    def __init__(self, logits: Callable[[Tensor, Tensor], Tensor]) -> None:
        self._logits = logits

    def __call__(self, own: Tensor, unknown: Tensor) -> Tensor:
        return self._logits(unknown, own)


def _count_classes(logits: Callable[[Tensor, Tensor], Tensor], sizes: Sequence[int]) -> int:
    with torch.no_grad():
        return int(logits(torch.zeros(1, sizes[0]), torch.zeros(1, sum(sizes[1:]))).shape[1])


def _linear_weights(bottoms: Sequence[nn.Module]) -> Tensor | None:
    """All columns' weights if every part is one linear layer without bias, added up.

    A scaling of one straight piece is part of the weights: they are those of the columns as encoded. What it adds to
    all records alike is in the logits of no columns, which equation solving takes off.
    """
    weights = []
    for bottom in bottoms:
        layers = [m for m in bottom.modules() if not isinstance(m, nn.Sequential | nn.Flatten | Scaling)]
        layer = layers[0] if len(layers) == 1 else None
        if not isinstance(layer, nn.Linear) or "bias" in dict(layer.named_parameters()):
            return None
        slopes = _slopes(bottom)
        if slopes is None:
            return None
        weights.append((layer.weight.double() * slopes.double()).detach())
    return torch.cat(weights, dim=1)


def _slopes(bottom: nn.Module) -> Tensor | None:
    """What the scaling multiplies each column by: 1 without one, None if that differs along a column."""
    for module in bottom.modules():
        if isinstance(module, Scaling) and module.knots is not None:
            return module.slopes
    return torch.ones(1, dtype=torch.float64)
