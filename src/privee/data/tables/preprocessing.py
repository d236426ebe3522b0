"""From a party's table to features in [0, 1].

Each party fits this on its own rows and keeps it beside its part of the model. It holds ranges and categories, so it
never leaves that party, and it needs nothing of the others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.data.files.arrow import listed
from privee.data.tables.cells import Kind, kind_of
from privee.data.tables.encoders import Column, column_from_dict, fit_categorical, fit_numeric
from privee.data.tables.reading import PartyTable
from privee.errors import PriveeError, SettingError

SAVED_VERSION = 1


@dataclasses.dataclass(frozen=True)
class Preprocessing:
    """How each column becomes features; `dropped` names those that were constant in fitting."""

    columns: tuple[Column, ...]
    dropped: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature, in their order."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The positions of each original column's features."""
        ends = np.cumsum([len(column.feature_names) for column in self.columns]).tolist()
        return tuple(tuple(range(start, end)) for start, end in zip([0, *ends], ends, strict=False))

    @property
    def kinds(self) -> dict[str, Kind]:
        """What `read_party_table` needs to read new rows as these were read."""
        return {column.name: column.kind for column in self.columns}

    def apply(self, table: PartyTable) -> NDArray[np.float32]:
        """Features of the table's rows, (n, d) float32, every one of them in [0, 1]."""
        self._check_columns(table)
        features = np.empty((len(table), len(self.feature_names)), dtype=np.float32)
        for column, group in zip(self.columns, self.groups, strict=True):
            block = column.encode(table.columns[column.name])
            if not np.isfinite(block).all():
                raise PriveeError(f"column {column.name!r} is not finite after encoding; fit the preprocessing again")
            features[:, group[0] : group[-1] + 1] = block
        return features

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which keeps every float exactly."""
        columns = [column.as_dict() for column in self.columns]
        return {"version": SAVED_VERSION, "columns": columns, "dropped": list(self.dropped)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Preprocessing:
        """Back from `as_dict`; what does not make a preprocessing is refused."""
        try:
            version = saved["version"]
            if version != SAVED_VERSION:
                raise PriveeError(
                    f"the preprocessing was saved in format {version!r}; this privee reads {SAVED_VERSION}"
                )
            columns = tuple(column_from_dict(column) for column in saved["columns"])
            dropped = tuple(str(name) for name in saved["dropped"])
        except PriveeError:
            raise
        except (KeyError, TypeError, ValueError):
            raise PriveeError("this is not a saved preprocessing, or it was changed by hand") from None
        names = [*(column.name for column in columns), *dropped]
        if not columns or len(set(names)) != len(names):
            raise PriveeError("this is not a saved preprocessing: it has no columns, or one of them twice")
        return cls(columns, dropped)

    def _check_columns(self, table: PartyTable) -> None:
        known = [*self.kinds, *self.dropped]
        absent = [name for name in known if name not in table.columns]
        extra = [name for name in table.columns if name not in known]
        if absent:
            raise PriveeError(f"{table.name} lacks columns the preprocessing was fitted on: {listed(absent)}")
        if extra:
            raise PriveeError(f"{table.name} has columns the preprocessing was not fitted on: {listed(extra)}")
        for name, kind in self.kinds.items():
            column = table.columns[name]
            if kind_of(column) != kind and column.null_count < len(column):
                raise PriveeError(
                    f"column {name!r} of {table.name} is {kind_of(column)}, but was {kind} in fitting; "
                    "read a CSV file with kinds=preprocessing.kinds"
                )


def fit_preprocessing(table: PartyTable, *, max_categories: int = 100) -> Preprocessing:
    """Learn ranges, medians and categories from a party's own rows; constant columns are dropped.

    Args:
        table: The rows to learn from, e.g. the training rows.
        max_categories: A text column with more is refused: it is likely an id or free text.
    """
    if max_categories < 2:
        raise SettingError(f"max_categories must be 2 or more, got {max_categories}")
    fitted = {
        name: fit_numeric(name, column)
        if kind_of(column) == "numeric"
        else fit_categorical(name, column, max_categories)
        for name, column in table.columns.items()
    }
    columns = tuple(column for column in fitted.values() if column is not None)
    if not columns:
        raise PriveeError(f"every feature column of {table.name} is constant: nothing to learn from")
    return Preprocessing(columns, tuple(name for name, column in fitted.items() if column is None))
