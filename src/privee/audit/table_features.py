"""A joined table as features that attacks can work on, and back into tables that its model can be asked about.

A number is one feature, and one more (was it given?) where some are missing. Anything else is a category, with one 0/1
feature for each value; a value is kept as a row that has it, so that asking again gives the model its very type.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import SettingError
from privee.scores.frames import Frame, Label, as_frame

MOST_VALUES = 1000


class ArrayFrame(Frame):
    """A plain (rows, columns) array; its columns are called by their numbers."""

    @property
    def labels(self) -> list[Label]:
        return list(range(self.table.shape[1]))

    def column(self, label: Label) -> NDArray[Any]:
        return np.asarray(self.table[:, label])

    def taken(self, label: Label, rows: NDArray[np.intp]) -> Any:
        return self.table[rows, label]

    def made(self, columns: Mapping[Label, Any]) -> Any:
        kind = object if self.table.dtype == object else np.float64
        return np.stack([np.asarray(column).astype(kind) for column in columns.values()], axis=1)

    def replaced(self, columns: Mapping[Label, NDArray[Any]], order: Sequence[Label]) -> Any:
        raise NotImplementedError


def opened(table: Any) -> Frame:
    """A table of one of the known libraries, or an array."""
    frame = as_frame(table)
    if frame is None:
        array = np.asarray(table)
        if array.ndim != 2:
            raise SettingError("the table must be a pandas, polars or Arrow table, or a (rows, columns) array")
        frame = ArrayFrame(array)
    if not len(frame):
        raise SettingError("the table has no rows")
    return frame


@dataclasses.dataclass(frozen=True)
class NumberColumn:
    """Its middle value stands where it is missing."""

    label: Label
    middle: float
    gaps: bool

    @property
    def names(self) -> list[str]:
        """Of its features."""
        return [str(self.label), *([f"{self.label} given"] if self.gaps else [])]

    def encoded(self, frame: Frame) -> NDArray[np.float64]:
        values = frame.column(self.label).astype(np.float64)
        given = ~np.isnan(values)
        features = [np.where(given, values, self.middle), *([given] if self.gaps else [])]
        return np.stack(features, axis=1).astype(np.float64)

    def decoded(self, frame: Frame, features: NDArray[np.float64]) -> Any:
        return np.where(features[:, 1] < 0.5, np.nan, features[:, 0]) if self.gaps else features[:, 0].copy()


@dataclasses.dataclass(frozen=True)
class CategoryColumn:
    """`rows` are the first rows with each of its values."""

    label: Label
    values: tuple[Any, ...]
    rows: NDArray[np.intp]

    @property
    def names(self) -> list[str]:
        """Of its features, as `data.columns` reads them."""
        return [f"{self.label}={'missing' if value is None else value}" for value in self.values]

    def encoded(self, frame: Frame) -> NDArray[np.float64]:
        places = {value: k for k, value in enumerate(self.values)}
        codes = [places[value] for value in frame.column(self.label).tolist()]
        return np.eye(len(self.values))[codes]

    def decoded(self, frame: Frame, features: NDArray[np.float64]) -> Any:
        """The likeliest value: attacks try features between 0 and 1 too."""
        return frame.taken(self.label, self.rows[features.argmax(axis=1)])


Column = NumberColumn | CategoryColumn


def fitted(frame: Frame, label: Label, *, category: bool) -> Column:
    """How this column becomes features."""
    values = frame.column(label)
    if values.dtype.kind in "fiu" and not category:
        numbers = values.astype(np.float64)
        known = numbers[~np.isnan(numbers)]
        if not np.isfinite(known).all() or not len(known):
            raise SettingError(f"the column {label!r} holds infinite numbers, or none at all")
        return NumberColumn(label, float(np.median(known)), len(known) < len(numbers))
    seen: dict[Any, int] = {}
    for row, value in enumerate(values.tolist()):
        seen.setdefault(value, row)
    odd = next((value for value in seen if not isinstance(value, str | bool | int | float | bytes | None)), None)
    if odd is not None:
        raise SettingError(f"the column {label!r} holds {type(odd).__name__}; numbers and text can be audited")
    if len(seen) > MOST_VALUES:
        raise SettingError(
            f"the column {label!r} has {len(seen):,} values, more than {MOST_VALUES:,}: an id, or free text?"
        )
    order = sorted(seen, key=lambda value: (value is None, str(value)))
    return CategoryColumn(label, tuple(order), np.array([seen[value] for value in order]))


class Features:
    """The features of a table's columns: own ones first, private ones after them."""

    def __init__(
        self, frame: Frame, own: Sequence[Label], private: Sequence[Label], categories: Sequence[Label]
    ) -> None:
        self._frame = frame
        make = {label: fitted(frame, label, category=label in categories) for label in (*own, *private)}
        self.columns = list(make.values())
        self.own_width = sum(len(make[label].names) for label in own)

    @property
    def names(self) -> list[str]:
        """One for each feature."""
        return [name for column in self.columns for name in column.names]

    @property
    def places(self) -> list[list[int]]:
        """Of each column's features."""
        ends = np.cumsum([len(column.names) for column in self.columns]).tolist()
        return [list(range(start, end)) for start, end in zip([0, *ends], ends, strict=False)]

    def encoded(self) -> NDArray[np.float64]:
        """Of all rows of the table."""
        return np.concatenate([column.encoded(self._frame) for column in self.columns], axis=1)

    def decoded(self, features: NDArray[np.float64]) -> dict[Label, Any]:
        """Columns for a table of such rows, in the order of the table."""
        both = zip(self.columns, self.places, strict=True)
        made = {column.label: column.decoded(self._frame, features[:, places]) for column, places in both}
        return {label: made[label] for label in self._frame.labels if label in made}

    def table(self, features: NDArray[np.float64]) -> Any:
        """A table of such rows, as the model takes it."""
        return self._frame.made(self.decoded(features))
