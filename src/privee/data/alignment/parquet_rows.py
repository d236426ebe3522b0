"""A Parquet file whose rows are picked out with all columns and types as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from privee.data.alignment.csv_rows import column_place
from privee.data.alignment.ids import Rows
from privee.data.files.parquet import bounded, read_bounded
from privee.data.files.size_limits import refuse_more
from privee.errors import PriveeError

ID_BYTES = 100  # of a short text in Python


class ParquetTable:
    """Ids of a Parquet file: text, or whole numbers written in decimal without leading zeros."""

    def __init__(self, path: Path, id_column: str) -> None:
        self._path = path
        try:
            with bounded(path) as file:
                column_place(list(file.schema_arrow.names), id_column, path.name)
            column = read_bounded(path, [id_column]).column(id_column)
            refuse_more(ID_BYTES * len(column), path.name)
        except PriveeError:
            raise
        except (pa.ArrowException, OSError, ValueError):
            raise PriveeError(f"{path.name}: this is not a readable Parquet file") from None
        self.ids: list[str] = _as_text(column, id_column, path.name)

    def write(self, rows: Rows, target: Path) -> None:
        """Write the given rows, in that order."""
        arrow_parquet.write_table(read_bounded(self._path).take(pa.array(rows)), target)


def _as_text(column: Any, name: str, file: str) -> list[Any]:
    """Missing ids stay None, so that they are reported with their rows."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _as_text(column.cast(kind.value_type), name, file)
    if pa.types.is_integer(kind):
        return [None if value is None else str(value) for value in column.to_pylist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return list(column.to_pylist())
    raise PriveeError(f"{file}: column {name!r} holds {kind}; ids must be text or whole numbers")
