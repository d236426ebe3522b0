"""The same joint model in fewer steps: where nothing bends between two linear layers, they are one.

An attack calls the model thousands of times. A network for each party, joined by one dense layer, takes less than half
the products once that layer is part of the networks' last ones and a scaling part of their first.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from privee.vfl.models import ConcatTop, Scaling, SumTop


def merged_steps(bottoms: Sequence[nn.Module], top: nn.Module) -> tuple[list[nn.Module], nn.Module] | None:
    """Bottoms that give logits, and what adds these up; None of a model that is not so made.

    Args:
        bottoms: the parties' parts.
        top: what takes their embeddings.
    """
    if not isinstance(top, ConcatTop) or not isinstance(top.head, nn.Linear):
        return None
    ends = [bottom[-1] for bottom in bottoms if type(bottom) is nn.Sequential and len(bottom)]
    widths = [end.out_features for end in ends if isinstance(end, nn.Linear)]
    if len(widths) < len(bottoms) or min(widths) < top.head.out_features:  # of many classes it would be more work
        return None
    slopes = top.head.weight.double().split(widths, dim=1)
    levels = [_level(top.head), *(torch.zeros(top.head.out_features).double() for _ in bottoms[1:])]
    return [_merged(*part) for part in zip(bottoms, slopes, levels, strict=True)], SumTop()


def _merged(bottom: nn.Module, slopes: Tensor, level: Tensor) -> nn.Module:
    layers = list(bottom.children())
    last = layers[-1]
    assert isinstance(last, nn.Linear)  # noqa: S101 (`merged_steps` has looked)
    layers[-1] = _layer(slopes @ last.weight.double(), slopes @ _level(last) + level, last)
    if len(layers) > 1 and isinstance(layers[0], Scaling) and isinstance(layers[1], nn.Linear):
        layers[:2] = _scaled(layers[0], layers[1])
    return nn.Sequential(*layers).eval().requires_grad_(requires_grad=False)


def _scaled(scaling: Scaling, layer: nn.Linear) -> list[nn.Module]:
    """A layer that scales as well, if the scaling is one straight piece."""
    if scaling.slopes is None or scaling.knots is None or scaling.values is None:
        return [scaling, layer]
    slopes, weights = scaling.slopes.double(), layer.weight.double()
    level = _level(layer) + weights @ (scaling.values[:, 0].double() - slopes * scaling.knots[:, 0].double())
    return [nn.Flatten(), _layer(weights * slopes, level, layer)]


def _layer(weights: Tensor, level: Tensor, like: nn.Linear) -> nn.Linear:
    made = nn.Linear(weights.shape[1], weights.shape[0], dtype=like.weight.dtype)
    made.load_state_dict({"weight": weights, "bias": level})
    return made


def _level(layer: nn.Linear) -> Tensor:
    zero = torch.zeros(layer.out_features).double()
    return zero if layer.bias is None else layer.bias.double()
