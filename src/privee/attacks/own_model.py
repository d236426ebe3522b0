"""A user's own model as a white box: any function of the two parties' columns, differentiable or not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from privee.attacks.log_scores import centred
from privee.attacks.white_box import WhiteBox
from privee.errors import PriveeError, SettingError

Outputs = Literal["scores", "logits"]
SUM_TOLERANCE = 1e-3
SMALLEST = 1e-300
LINEAR_TOLERANCE = 1e-6


class Scaling:
    """Columns in [0, 1] by their public ranges, and back."""

    def __init__(self, columns: Tensor) -> None:
        self._low = columns.amin(dim=0)
        spread = columns.amax(dim=0) - self._low
        self._spread = torch.where(spread > 0, spread, torch.ones_like(spread))

    def apply(self, columns: Tensor) -> Tensor:
        """Bring these columns into [0, 1]."""
        return (columns - self._low) / self._spread

    def undo(self, scaled: Tensor) -> Tensor:
        """Back to the units the model was made for."""
        return self._low + self._spread * scaled


def from_callable(
    model: Callable[[Any, Any], Any], own: Scaling, unknown: Scaling, example: tuple[Tensor, Tensor], outputs: Outputs
) -> WhiteBox:
    """Wrap a function (active columns, passive columns) -> scores or logits, on torch tensors or NumPy arrays.

    Attacks that need gradients work if it is written in torch. A model whose log-scores are linear in the columns
    is recognised by trying it out, so that equation solving works on any logistic model.

    Args:
        model: the function, or a torch module (a frozen double-precision copy is made).
        own: how the active columns were scaled.
        unknown: how the passive columns were scaled.
        example: a few rows, scaled.
        outputs: does the model give scores, rows summing to 1, or logits?
    """
    if outputs not in ("scores", "logits"):
        raise SettingError(f"outputs must be 'scores' or 'logits', got {outputs!r}")
    logits = _OwnLogits(_prepared(model), own, unknown, outputs)
    logits.find_kind(*example)
    n_classes = logits(*example).shape[1]
    found = WhiteBox(logits, own_columns=example[0].shape[1], unknown_columns=example[1].shape[1], n_classes=n_classes)
    found.logits(*example)  # says what is wrong with a broken model before anything is run
    found._weights = _linear_weights(found, *example)
    return found


def _prepared(model: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    if not callable(model):
        raise PriveeError("the model must be a function of (active_columns, passive_columns)")
    if isinstance(model, nn.Module):
        return copy.deepcopy(model).double().eval().requires_grad_(requires_grad=False)
    return model


class _OwnLogits:
    """Unscales columns, calls the model with what it takes, and turns scores into logits."""

    def __init__(self, model: Callable[[Any, Any], Any], own: Scaling, unknown: Scaling, outputs: Outputs) -> None:
        self._model, self._own, self._unknown, self._outputs = model, own, unknown, outputs
        self._takes_tensors = True

    def find_kind(self, own: Tensor, unknown: Tensor) -> None:
        """Does the model take tensors, or arrays only?"""
        try:
            values = self._model(self._own.undo(own), self._unknown.undo(unknown))
        except Exception:  # whatever a NumPy model says about tensors
            values = None
        self._takes_tensors = isinstance(values, Tensor)
        if not self._takes_tensors:
            try:
                self(own, unknown)
            except PriveeError:
                raise
            except Exception as error:
                raise PriveeError(f"the model could not be called: {type(error).__name__}: {error}") from error

    def __call__(self, own: Tensor, unknown: Tensor) -> Tensor:
        own, unknown = self._own.undo(own), self._unknown.undo(unknown)
        if self._takes_tensors:
            values = self._model(own, unknown).double()
        else:
            values = torch.from_numpy(
                np.array(self._model(own.detach().numpy(), unknown.detach().numpy()), dtype=np.float64)
            )
        if values.ndim != 2 or len(values) != len(own) or values.shape[1] < 2:
            raise PriveeError(f"the model must give (rows, classes) for {len(own)} rows, got {tuple(values.shape)}")
        return values if self._outputs == "logits" else _logs(values)


def _logs(scores: Tensor) -> Tensor:
    """Log-scores are logits: a softmax gives the scores back."""
    if not torch.isfinite(scores).all():
        raise PriveeError("the model gave scores that are not finite numbers")
    if (scores.sum(dim=1) - 1).abs().max() > SUM_TOLERANCE or scores.min() < 0:
        raise PriveeError(
            "the model's rows are no scores (0 or more, summing to 1); outputs='logits' if it gives logits"
        )
    return scores.clamp_min(SMALLEST).log()


def _linear_weights(model: WhiteBox, own: Tensor, unknown: Tensor) -> Tensor | None:
    """All columns' weights of a logistic model, found by moving one column at a time; None for any other model."""
    with torch.no_grad():
        columns = torch.cat([own, unknown], dim=1)
        width, middle = columns.shape[1], columns.mean(dim=0)

        def at(rows: Tensor) -> Tensor:
            return centred(model.logits(rows[:, : model.own_columns], rows[:, model.own_columns :]))

        level = at(middle[None])
        slopes = at(middle + torch.eye(width, dtype=columns.dtype)) - level
        off = at(columns) - (level + (columns - middle) @ slopes)
    return slopes.T if off.abs().max() <= LINEAR_TOLERANCE * slopes.abs().max() else None
