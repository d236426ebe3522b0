"""MLP: two fully connected layers for each party, and a dense top."""

from __future__ import annotations

from torch import nn

from privee.vfl.models._registry import EMBEDDING, HIDDEN, Shape, dense_top, flat_size, register
from privee.vfl.models._scaling import Scaling


@register(top=dense_top)
def mlp_bottom(shape: Shape, n_classes: int) -> nn.Module:
    """Two fully connected layers, 128 and 64 wide, on the party's own scale if it fitted one."""
    return nn.Sequential(Scaling(), nn.Linear(flat_size(shape), HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, EMBEDDING))
