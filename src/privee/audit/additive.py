"""Models whose log-scores are a sum over columns, found by trying them out.

A logistic regression behind a pipeline that scales, fills in and one-hot encodes is one: a plain function of features,
of which gradients and equations can be used. Any other model stays one that can only be asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privee.audit.table_features import Features, NumberColumn

TRIED = 200
SMALLEST = 1e-300
TOLERANCE = {np.dtype(np.float64): 1e-7, np.dtype(np.float32): 1e-4}
"""How far the sum may miss, in units of the widest range of a column's part, by the precision of the scores."""


class Additive(NamedTuple):
    """Logits as a linear function of features; takes own and private ones as torch tensors."""

    weights: Tensor
    level: Tensor

    def __call__(self, own: Tensor, unknown: Tensor) -> Tensor:
        return torch.cat([own, unknown], dim=1) @ self.weights + self.level


def additive(scores_of: Callable[[NDArray[np.float64]], NDArray[np.floating]], features: Features) -> Additive | None:
    """The linear function of features that the model is, or None if it is not."""
    rows = features.encoded()
    probes = _probes(features, rows)
    logits, dtype = _logits(scores_of(np.array([row for probe in probes for row in (probe.one, probe.other)])))
    slopes = np.zeros((rows.shape[1], logits.shape[1]))
    for k, probe in enumerate(probes):
        slopes[probe.place] = (logits[2 * k] - logits[2 * k + 1]) / probe.width
    found, _ = _logits(scores_of(rows[:TRIED]))
    level = found[0] - rows[0] @ slopes
    off = np.abs(rows[:TRIED] @ slopes + level - found).max()
    widest = (np.ptp(rows, axis=0)[:, None] * np.abs(slopes)).max()
    if not off <= TOLERANCE[dtype] * widest:  # NaN is more
        return None
    return Additive(torch.from_numpy(slopes), torch.from_numpy(level))


class Probe(NamedTuple):
    """Two rows that differ in one feature, or in one value of a category from the first row's."""

    place: int
    one: NDArray[np.float64]
    other: NDArray[np.float64]
    width: float = 1.0


def _probes(features: Features, rows: NDArray[np.float64]) -> list[Probe]:
    """One for each feature, around the first row."""
    base, found = rows[0], []
    for column, places in zip(features.columns, features.places, strict=True):
        if not isinstance(column, NumberColumn):
            none = dict.fromkeys(places, 0.0)
            found += [Probe(place, _with(base, none | {place: 1.0}), base) for place in places]
            continue
        value, given = places[0], dict.fromkeys(places[1:], 1.0)
        low, high = float(rows[:, value].min()), float(rows[:, value].max())
        top, bottom = (_with(base, given | {value: end}) for end in (high, low))
        found.append(Probe(value, top, bottom, (high - low) or 1.0))
        middle = {value: column.middle}  # which stands where nothing is given
        found += [Probe(k, _with(base, middle | {k: 1.0}), _with(base, middle | {k: 0.0})) for k in places[1:]]
    return found


def _with(row: NDArray[np.float64], values: dict[int, float]) -> NDArray[np.float64]:
    made = row.copy()
    made[list(values)] = list(values.values())
    return made


def _logits(scores: NDArray[np.floating]) -> tuple[NDArray[np.float64], np.dtype]:
    logs = np.log(np.maximum(scores.astype(np.float64), SMALLEST))
    return logs - logs.mean(axis=1, keepdims=True), scores.dtype
