"""Logistic: every party adds its share of the logits up."""

from __future__ import annotations

from torch import nn

from privee.vfl.models._registry import Shape, flat_size, register, sum_top
from privee.vfl.models._scaling import Scaling


@register(top=sum_top, embedding=None)
def logistic_bottom(shape: Shape, n_classes: int) -> nn.Module:
    """A party's share of a logistic model: linear, no bias; columns on the party's own scale if it fitted one."""
    return nn.Sequential(Scaling(), nn.Linear(flat_size(shape), n_classes, bias=False))
