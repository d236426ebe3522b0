"""Tables of pandas, polars and Arrow: their columns as arrays, and arrays as their columns; none need be installed.

Whoever holds such a table has imported its library, so it is looked for among what is loaded and never imported.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import ScoreError

Label = Any
"""What a column is called: text, or in pandas whatever its owner likes."""


class Frame(ABC):
    """A table of one of these libraries."""

    def __init__(self, table: Any) -> None:
        self.table = table
        if len(set(self.labels)) < len(self.labels):
            raise ScoreError("the table has two columns of the same name")

    @property
    @abstractmethod
    def labels(self) -> list[Label]:
        """Its columns, in their order."""

    @abstractmethod
    def column(self, label: Label) -> NDArray[Any]:
        """A column as an array, NaN or None where nothing is given; of numbers if its type is one of numbers."""

    @abstractmethod
    def taken(self, label: Label, rows: NDArray[np.intp]) -> Any:
        """These rows of a column, as a column of the same type."""

    @abstractmethod
    def made(self, columns: Mapping[Label, Any]) -> Any:
        """Another table of this library, of these columns."""

    @abstractmethod
    def replaced(self, columns: Mapping[Label, NDArray[Any]], order: Sequence[Label]) -> Any:
        """The same table with these columns new or anew, in this order; index and other columns are kept."""

    def __len__(self) -> int:
        return len(self.table)

    def matrix(self, labels: Sequence[Label]) -> NDArray[Any]:
        """Columns of numbers side by side; float32 if all of them are, else float64."""
        columns = []
        for label in labels:
            column = self.column(label)
            if column.dtype.kind not in "fiu":
                raise ScoreError(f"the column {label!r} holds no numbers; privee.protect keeps what is named in keep=")
            columns.append(column)
        if any(column.dtype == np.float16 for column in columns):
            raise ScoreError("scores must be float32 or float64, got float16; cast to float32 first")
        single = bool(columns) and all(column.dtype == np.float32 for column in columns)
        return np.array(columns, dtype=np.float32 if single else np.float64).T.reshape(len(self), len(columns))


class PandasFrame(Frame):
    """A pandas.DataFrame."""

    @property
    def labels(self) -> list[Label]:
        return list(self.table.columns)

    def column(self, label: Label) -> NDArray[Any]:
        series = self.table[label]
        kind = getattr(series.dtype, "numpy_dtype", series.dtype)  # that of nullable and of Arrow's types
        if isinstance(kind, np.dtype) and kind.kind in "fiu":
            gaps = bool(series.isna().any())
            return np.asarray(series.to_numpy(np.float64 if kind.kind != "f" and gaps else kind, na_value=np.nan))
        return np.asarray(series.astype(object).where(series.notna(), None).to_numpy(dtype=object))

    def taken(self, label: Label, rows: NDArray[np.intp]) -> Any:
        return self.table[label].iloc[rows].reset_index(drop=True)

    def made(self, columns: Mapping[Label, Any]) -> Any:
        return sys.modules["pandas"].DataFrame(dict(columns))

    def replaced(self, columns: Mapping[Label, NDArray[Any]], order: Sequence[Label]) -> Any:
        series, table = sys.modules["pandas"].Series, self.table.copy(deep=False)
        for label, values in columns.items():
            kind = table[label].dtype if label in table and self._floats(label) == values.dtype else values.dtype
            table[label] = series(values, index=table.index).astype(kind)
        return table[list(order)]

    def _floats(self, label: Label) -> Any:
        kind = self.table[label].dtype
        return getattr(kind, "numpy_dtype", kind)


class PolarsFrame(Frame):
    """A polars.DataFrame."""

    @property
    def labels(self) -> list[Label]:
        return list(self.table.columns)

    def column(self, label: Label) -> NDArray[Any]:
        series = self.table.get_column(label)
        return np.asarray(series.to_numpy() if series.dtype.is_numeric() else np.array(series.to_list(), dtype=object))

    def taken(self, label: Label, rows: NDArray[np.intp]) -> Any:
        return self.table.get_column(label).gather(rows)

    def made(self, columns: Mapping[Label, Any]) -> Any:
        return sys.modules["polars"].DataFrame(dict(columns))

    def replaced(self, columns: Mapping[Label, NDArray[Any]], order: Sequence[Label]) -> Any:
        series = sys.modules["polars"].Series
        made = [series(label, np.ascontiguousarray(values)) for label, values in columns.items()]
        return self.table.with_columns(made).select(list(order))


class ArrowFrame(Frame):
    """A pyarrow.Table or RecordBatch."""

    @property
    def labels(self) -> list[Label]:
        return list(self.table.schema.names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, label: Label) -> NDArray[Any]:
        column = self.table.column(label)
        kinds = sys.modules["pyarrow"].types
        if kinds.is_floating(column.type) or kinds.is_integer(column.type):
            return np.asarray(column.to_numpy(zero_copy_only=False))
        return np.array(column.to_pylist(), dtype=object)

    def taken(self, label: Label, rows: NDArray[np.intp]) -> Any:
        return self.table.column(label).take(sys.modules["pyarrow"].array(rows))

    def made(self, columns: Mapping[Label, Any]) -> Any:
        return sys.modules["pyarrow"].table(dict(columns))

    def replaced(self, columns: Mapping[Label, NDArray[Any]], order: Sequence[Label]) -> Any:
        arrow, table = sys.modules["pyarrow"], self.table
        made = {label: arrow.array(np.ascontiguousarray(values)) for label, values in columns.items()}
        known = set(self.labels)
        found = [made[label] if label in made else table.column(label) for label in order]
        fields = [
            table.schema.field(label).with_type(one.type) if label in known else arrow.field(label, one.type)
            for label, one in zip(order, found, strict=True)
        ]
        return type(table).from_arrays(found, schema=arrow.schema(fields, metadata=table.schema.metadata))


KINDS: tuple[tuple[str, tuple[str, ...], type[Frame]], ...] = (
    ("pandas", ("DataFrame",), PandasFrame),
    ("polars", ("DataFrame",), PolarsFrame),
    ("pyarrow", ("Table", "RecordBatch"), ArrowFrame),
)


def as_frame(value: Any) -> Frame | None:
    """The table, if it is one."""
    for library, names, kind in KINDS:
        module = sys.modules.get(library)
        if module is not None and isinstance(value, tuple(getattr(module, name) for name in names)):
            return kind(value)
    if type(value).__name__ == "LazyFrame":
        raise ScoreError("a LazyFrame holds no rows yet; collect() it first")
    return None
