"""The first step of a party's part: its columns laid flat and, if the party fitted a scaling, brought to one scale.

Encoded columns stay in [0, 1] everywhere else: what the columns are in, errors of attacks are in. The scaling is
fixed and made of straight pieces, so that gradients pass through it and one of a single piece folds into linear
weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Scaling(nn.Module):
    """Flattens rows; between each column's `knots` its value goes straight from one of `values` to the next.

    Both are (columns, knots) tensors, None until a party fits them (see `privee.vfl.scaling`): then columns stay as
    they are, and the saved weights are those of a model without this step.
    """

    knots: Tensor | None
    values: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("knots", None)
        self.register_buffer("values", None)
        self._bent: Tensor | None = None

    def put(self, knots: Tensor, values: Tensor) -> None:
        """Scale by these from now on."""
        self.knots, self.values, self._bent = knots, values, None

    @property
    def slopes(self) -> Tensor | None:
        """What each column is multiplied by, if that is the same everywhere; None if it is not."""
        if self.knots is None or self.values is None or self.knots.shape[1] != 2:
            return None
        return (self.values[:, 1] - self.values[:, 0]) / (self.knots[:, 1] - self.knots[:, 0])

    def forward(self, rows: Tensor) -> Tensor:
        """Flat rows on the party's own scale."""
        flat = rows.flatten(1)
        if self.knots is None or self.values is None:
            return flat
        knots, values, slopes = self.knots, self.values, self.slopes
        if slopes is not None:
            return (flat - knots[:, 0]) * slopes + values[:, 0]
        if self._bent is None:  # most columns of a table are yes/no, which stay as they are
            self._bent = (knots != values).any(dim=1).nonzero()[:, 0]
        bent = self._bent
        if len(bent) == flat.shape[1]:
            return _piecewise(flat, knots, values)
        return flat.index_copy(1, bent, _piecewise(flat[:, bent], knots[bent], values[bent]))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Takes whatever number of knots was saved; none was before there were scalings."""
        for name in ("knots", "values"):
            saved = state_dict.get(prefix + name)
            setattr(self, name, None if saved is None else torch.empty_like(saved))
        self._bent = None
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _piecewise(flat: Tensor, knots: Tensor, values: Tensor) -> Tensor:
    """The first and the last piece go on for ever."""
    columns = flat.T.contiguous()
    piece = (torch.searchsorted(knots, columns.detach(), right=True) - 1).clamp(0, knots.shape[1] - 2)
    slopes = (values[:, 1:] - values[:, :-1]) / (knots[:, 1:] - knots[:, :-1])
    left, low, slope = (table.gather(1, piece) for table in (knots, values, slopes))
    return (low + (columns - left) * slope).T.contiguous()
