"""How one column becomes features: numbers scaled to [0, 1], categories one-hot, both as fitted on a party's rows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privee.data.tables.cells import Kind
from privee.errors import PriveeError


@dataclasses.dataclass(frozen=True)
class NumericColumn:
    """Scaled by the fitted range and clipped; missing cells get the median, and a 0/1 feature if fitting saw any."""

    kind: ClassVar[Kind] = "numeric"
    name: str
    low: float = dataclasses.field(repr=False)
    high: float = dataclasses.field(repr=False)
    median: float = dataclasses.field(repr=False)
    missing: bool

    @property
    def feature_names(self) -> list[str]:
        value = [self.name] if self.low != self.high else []
        return value + ([f"{self.name} missing"] if self.missing else [])

    def encode(self, column: Any) -> NDArray[np.float32]:
        values = numbers(self.name, column)
        unknown = np.isnan(values)
        features = []
        if self.low != self.high:
            features.append(_scale(np.where(unknown, self.median, values), self.low, self.high))
        if self.missing:
            features.append(unknown)
        return np.stack(features, axis=1).astype(np.float32)

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind} | dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class CategoricalColumn:
    """One 0/1 feature per fitted category, one more for missing if fitting saw any; what is new is all zero."""

    kind: ClassVar[Kind] = "categorical"
    name: str
    categories: tuple[str, ...] = dataclasses.field(repr=False)
    missing: bool

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}={c}" for c in self.categories] + ([f"{self.name} missing"] if self.missing else [])

    def encode(self, column: Any) -> NDArray[np.float32]:
        features = np.zeros((len(column), len(self.categories) + self.missing), dtype=np.float32)
        text = pc.cast(column, pa.string())
        places = pc.index_in(text, value_set=pa.array(self.categories, pa.string()))
        codes = pc.fill_null(places, -1).to_numpy()
        rows = np.flatnonzero(codes >= 0)
        features[rows, codes[rows]] = 1
        if self.missing:
            features[:, -1] = text.is_null().to_numpy()
        return features

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "categories": list(self.categories), "missing": self.missing}


Column = NumericColumn | CategoricalColumn


def fit_numeric(name: str, column: Any) -> NumericColumn | None:
    """None if the column is constant, which all-missing is too."""
    values = numbers(name, column)
    known = np.sort(values[~np.isnan(values)])
    missing = len(known) < len(values)
    if len(known) == 0 or (known[0] == known[-1] and not missing):
        return None
    return NumericColumn(name, float(known[0]), float(known[-1]), _middle(known), missing)


def fit_categorical(name: str, column: Any, max_categories: int) -> CategoricalColumn | None:
    """None if the column is constant; refuses a column of more than `max_categories` categories."""
    seen = [text for text in pc.unique(column).to_pylist() if text is not None]
    missing = column.null_count > 0
    if len(seen) > max_categories:
        raise PriveeError(
            f"column {name!r} has {len(seen):,} categories, more than {max_categories:,}: an id, free text, or numbers "
            "with something else among them? Put it right or leave it out"
        )
    return CategoricalColumn(name, tuple(sorted(seen)), missing) if len(seen) + missing > 1 else None


def column_from_dict(saved: Mapping[str, Any]) -> Column:
    """Back from `as_dict`. Raises KeyError, TypeError or ValueError for anything else."""
    name, missing = saved["name"], saved["missing"]
    if not isinstance(name, str) or not isinstance(missing, bool):
        raise TypeError
    if saved["kind"] == "numeric":
        low, high, median = (_number(saved[key]) for key in ("low", "high", "median"))
        if not low <= median <= high or (low == high and not missing):
            raise ValueError
        return NumericColumn(name, low, high, median, missing)
    categories = saved["categories"]
    if saved["kind"] != "categorical" or not all(isinstance(category, str) for category in categories):
        raise TypeError
    if len(set(categories)) != len(categories) or len(categories) + missing < 2:
        raise ValueError
    return CategoricalColumn(name, tuple(categories), missing)


def numbers(name: str, column: Any) -> NDArray[np.float64]:
    """A numeric column as an array, NaN where missing."""
    values: NDArray[np.float64] = pc.cast(column, pa.float64()).to_numpy()
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0]) + 1
        raise PriveeError(f"column {name!r} holds an infinite number at data row {row}; correct it or leave it empty")
    return values


def _scale(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    clipped = np.clip(values, low, high)
    if math.isinf(high - low):  # a range wider than float64 holds
        clipped, low, high = clipped / 2, low / 2, high / 2
    scaled: NDArray[np.float64] = (clipped - low) / (high - low)
    return scaled


def _middle(ordered: NDArray[np.float64]) -> float:
    """The median, which a plain mean of the two middle values could put out of range."""
    below, above = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return min(max(below / 2 + above / 2, below), above)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return float(value)
