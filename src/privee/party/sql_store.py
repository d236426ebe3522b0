"""A party's columns in a table of a database: only the needed columns of the asked entities are read, read-only.

Values are taken as a Parquet file's are: by their type, NULL is missing. Text is read as a CSV file's where that is
needed to understand it: numbers in a text column, and categories with white space around them or one of the words for
missing.
"""

from __future__ import annotations

import decimal
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from numpy.typing import NDArray

from privee.data.tables import PartyTable, Preprocessing
from privee.data.tables.cells import from_text, from_typed
from privee.data.tables.encoders import CategoricalColumn, Column
from privee.errors import PriveeError
from privee.logs import log
from privee.party.sql_table import connect, id_form, reflect
from privee.party.stores import Found, StoreError

CHUNK = 500  # entities per statement; databases bound the number of parameters
SAMPLE = 20


class SqlStore:
    """Reads from one table. Safe to use from several threads."""

    rows = None

    def __init__(self, url: str, table: str, id_column: str, fitted: Preprocessing) -> None:
        self._fitted = fitted
        self._engine = connect(url)
        try:
            needed = [id_column, *fitted.kinds]
            columns = reflect(self._engine, table, needed)
            self._ids = id_form(self._engine, columns[id_column], id_column)
            chosen = sa.bindparam("ids", expanding=True, type_=self._ids.kind)
            every = sa.select(*(columns[name] for name in needed))
            self._select = every.where(columns[id_column].in_(chosen))
            self._try(every.limit(SAMPLE))
        except sa.exc.SQLAlchemyError as error:
            self.close()
            raise PriveeError(f"cannot read the table {table!r}: {_why(error)}") from None
        except PriveeError:
            self.close()
            raise

    def find(self, entities: Sequence[str]) -> Found:
        """Encoded columns of these entities. One that cannot be read counts as unknown, and spoils no other's row."""
        try:
            return self._together(entities)
        except (PriveeError, ValueError, OverflowError, sa.exc.DataError):
            if len(entities) == 1:
                log("unreadable row", level=logging.WARNING, count=1)
                return Found(self._zeros(1), np.ones(1, dtype=bool))
        except sa.exc.SQLAlchemyError as error:
            raise StoreError(f"the database did not answer ({type(error).__name__})") from None
        middle = len(entities) // 2
        halves = [self.find(half) for half in (entities[:middle], entities[middle:])]
        return Found(*(np.concatenate(parts) for parts in zip(*halves, strict=True)))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _try(self, sample: sa.Select[Any]) -> None:
        """If not one row of a few can be encoded, it is not the rows' fault: say so now."""
        with self._engine.connect() as connection:
            rows = [tuple(values) for _, *values in connection.execute(sample)]
        problem: PriveeError | None = None
        for row in rows:
            try:
                self._encode([row])
                return
            except PriveeError as error:
                problem = problem or error
        if problem is not None:
            raise problem

    def _together(self, entities: Sequence[str]) -> Found:
        rows = self._rows(entities)
        places = {entity: place for place, entity in enumerate(rows)}
        found = np.fromiter((places.get(entity, -1) for entity in entities), np.int64, len(entities))
        unknown = found < 0
        columns = self._zeros(len(entities))
        columns[~unknown] = self._encode(list(rows.values()))[found[~unknown]]
        return Found(columns, unknown)

    def _zeros(self, count: int) -> NDArray[np.float32]:
        return np.zeros((count, len(self._fitted.feature_names)), dtype=np.float32)

    def _rows(self, entities: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """What the table holds of these entities, by entity."""
        ids = list(dict.fromkeys(value for value in map(self._ids.to_id, entities) if value is not None))
        rows: dict[str, tuple[Any, ...]] = {}
        with self._engine.connect() as connection:
            for start in range(0, len(ids), CHUNK):
                for held, *values in connection.execute(self._select, {"ids": ids[start : start + CHUNK]}):
                    entity = self._ids.to_entity(held)
                    if entity in rows:
                        raise PriveeError("the table holds an entity twice: make its id column unique")
                    rows[entity] = tuple(values)
        return rows

    def _encode(self, rows: list[tuple[Any, ...]]) -> NDArray[np.float32]:
        if not rows:
            return self._zeros(0)
        cells = zip(self._fitted.columns, zip(*rows, strict=True), strict=True)
        columns = {column.name: _arrow(column, list(held)) for column, held in cells}
        return self._fitted.apply(PartyTable("the table", tuple(str(k) for k in range(len(rows))), columns))


def _arrow(column: Column, cells: list[Any]) -> Any:
    """Cells as the reader of files would give them."""
    where = f"column {column.name!r}"
    plain = [float(cell) if isinstance(cell, decimal.Decimal) else cell for cell in cells]
    try:
        array = pa.chunked_array([pa.array(plain)])
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise PriveeError(f"{where} holds values of several types") from None
    if not pa.types.is_string(array.type):
        return from_typed(array, column.kind, where)
    if not isinstance(column, CategoricalColumn):
        return from_text(array, "numeric", where)
    fitted = pc.is_in(array, value_set=pa.array(column.categories, pa.string()))
    return pc.if_else(fitted, array, from_text(array, "categorical", where))


def _why(error: sa.exc.SQLAlchemyError) -> str:
    """The driver's first line, which names hosts and tables, never values: parameters are hidden."""
    origin = getattr(error, "orig", None) or error
    return next(iter(str(origin).splitlines()), type(error).__name__)
