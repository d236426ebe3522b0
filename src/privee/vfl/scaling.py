"""How a party brings its columns to one scale, by what its own training rows say and nothing else.

`standard` moves a number's mean to 0 and its spread to 1, as scikit-learn's StandardScaler does. `quantile` goes half
of the way by rank: a balance with a heavy tail then fills its scale, and the tail still stands apart. Features that
are 0 or 1 are left alone. It is kept in the party's part of the model and never shared; the encoded columns stay in
[0, 1].
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from privee.errors import SettingError
from privee.vfl.models._scaling import Scaling

ScalingKind = Literal["none", "standard", "quantile"]
PIECES = 32
FARTHEST = 5.0
"""How many spreads from the mean a value may count; beyond, its rank alone tells it from others."""
RANK_SPREAD = 12**0.5
"""Ranks from 0 to 1 times this have a spread of one, as the standard half has."""

Columns = NDArray[np.float64]


def scaling_of(kind: str) -> ScalingKind:
    """The kind of this name."""
    for known in get_args(ScalingKind):
        if kind == known:
            return known
    raise SettingError(f"scaling must be {', '.join(get_args(ScalingKind))}, got {kind!r}")


def fit_scaling(model: nn.Module, rows: Tensor, kind: str) -> None:
    """Give a party's part the scaling that these rows of its columns call for; a model without a place for one is left.

    Args:
        model: the party's part.
        rows: the party's training rows, encoded.
        kind: `none`, `standard` or `quantile`.
    """
    layer = next((module for module in model.modules() if isinstance(module, Scaling)), None)
    if scaling_of(kind) == "none" or layer is None:
        return
    flat = rows.flatten(1).numpy().astype(np.float64)
    knots, values = knots_of(flat, kind)
    layer.put(torch.from_numpy(knots).to(rows.dtype), torch.from_numpy(values).to(rows.dtype))


def knots_of(rows: Columns, kind: str) -> tuple[Columns, Columns]:
    """Where each column's straight pieces meet, and what the column is there; both (columns, knots)."""
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    plain = ((rows == 0) | (rows == 1)).all(axis=0) | (spread == 0)
    middle, spread = np.where(plain, 0.0, middle), np.where(plain, 1.0, spread)
    if kind == "standard":
        knots = np.tile([0.0, 1.0], (rows.shape[1], 1))
        return knots, (knots - middle[:, None]) / spread[:, None]
    knots = np.tile(np.linspace(0, 1, PIECES + 1), (rows.shape[1], 1))
    values = knots.copy()
    for column in np.flatnonzero(~plain):
        knots[column] = _spaced(rows[:, column])
        standard = np.clip((knots[column] - middle[column]) / spread[column], -FARTHEST, FARTHEST)
        values[column] = (standard + RANK_SPREAD * (_ranks(rows[:, column], knots[column]) - 0.5)) / 2
    return knots, values


def _spaced(values: Columns) -> Columns:
    """Quantiles that differ in single precision; where ties leave too few, the widest gaps are halved."""
    found: Any = np.unique(np.quantile(values, np.linspace(0, 1, PIECES + 1)).astype(np.float32)).astype(np.float64)
    while len(found) <= PIECES:
        gap = int(np.argmax(np.diff(found)))
        found = np.insert(found, gap + 1, (found[gap] + found[gap + 1]) / 2)
    return np.asarray(found)


def _ranks(values: Columns, at: Columns) -> Columns:
    """The share of the values that lie below each of `at`, ties counting half."""
    ordered = np.sort(values.astype(np.float32).astype(np.float64))
    below = np.searchsorted(ordered, at, side="left") + np.searchsorted(ordered, at, side="right")
    return np.asarray(below / (2 * len(ordered)))
