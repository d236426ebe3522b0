"""Rows in a table of a database: only the needed columns of the asked entities are read, read-only.

Numbers are taken as numbers, texts, booleans and UUIDs as text; NULL is missing.
"""

from __future__ import annotations

import decimal
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from privee.data.files.arrow import no_column
from privee.errors import PriveeError
from privee.gateway.scorers.rows import FoundRows, Rows, chosen
from privee.logs import log
from privee.party.sql_table import connect, id_form, reflect
from privee.party.stores import StoreError

CHUNK = 500  # entities per statement; databases bound the number of parameters
TEXTS = (sa.String, sa.Boolean, sa.Uuid)


class SqlRows:
    """A table of a database, which is read only."""

    in_memory = False

    def __init__(self, url: str, table: str, id_column: str, wanted: Sequence[str]) -> None:
        self._engine = connect(url)
        try:
            held = [one["name"] for one in _columns_of(self._engine, table)]
            if id_column not in held:
                raise no_column(f"the table {table!r}", id_column, held)
            self.names = chosen([name for name in held if name != id_column], wanted, f"the table {table!r}")
            columns = reflect(self._engine, table, [id_column, *self.names])
            self._ids = id_form(self._engine, columns[id_column], id_column)
            self._texts = tuple(isinstance(columns[name].type, TEXTS) for name in self.names)
            every = sa.select(columns[id_column], *(columns[name] for name in self.names))
            self._sample = every.limit(1)
            self._select = every.where(
                columns[id_column].in_(sa.bindparam("ids", expanding=True, type_=self._ids.kind))
            )
        except sa.exc.SQLAlchemyError as error:
            self.close()
            raise PriveeError(f"cannot read the table {table!r} ({type(error).__name__})") from None
        except PriveeError:
            self.close()
            raise

    def find(self, entities: Sequence[str]) -> FoundRows:
        """Their rows. One that cannot be read counts as unknown."""
        ids = list(dict.fromkeys(value for value in map(self._ids.to_id, entities) if value is not None))
        held: dict[str, list[Any]] = {}
        for start in range(0, len(ids), CHUNK):
            for found, *cells in self._read(self._select, {"ids": ids[start : start + CHUNK]}):
                entity = self._ids.to_entity(found)
                if entity in held:
                    raise StoreError("the table holds an entity twice: make its id column unique")
                held[entity] = cells
        rows = {entity: row for entity, cells in held.items() if (row := self._row(cells)) is not None}
        unknown = tuple(place for place, entity in enumerate(entities) if entity not in rows)
        return FoundRows(self._rows([rows[entity] for entity in entities if entity in rows]), unknown)

    def sample(self) -> Rows:
        """The first that the database gives; no row if there is none."""
        found = [self._row(cells) for _, *cells in self._read(self._sample, {})]
        return self._rows([row for row in found if row is not None])

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _read(self, select: sa.Select[Any], given: dict[str, Any]) -> list[Any]:
        try:
            with self._engine.connect() as connection:
                return list(connection.execute(select, given))
        except sa.exc.SQLAlchemyError as error:
            raise StoreError(f"the database did not answer ({type(error).__name__})") from None

    def _row(self, cells: list[Any]) -> list[Any] | None:
        try:
            return [_cell(cell, text) for cell, text in zip(cells, self._texts, strict=True)]
        except (TypeError, ValueError, OverflowError):
            log("unreadable row", level=logging.WARNING, count=1)
            return None

    def _rows(self, rows: list[list[Any]]) -> Rows:
        values = np.empty((len(rows), len(self.names)), dtype=object if any(self._texts) else np.float64)
        for place, row in enumerate(rows):
            values[place] = row
        return Rows(self.names, values)


def _columns_of(engine: sa.Engine, table: str) -> list[Any]:
    inspector = sa.inspect(engine)
    schema, _, name = table.rpartition(".") if not inspector.has_table(table) else ("", "", table)
    try:
        return list(inspector.get_columns(name, schema=schema or None))
    except sa.exc.NoSuchTableError:
        raise PriveeError(f"the database has no table {table!r}") from None


def _cell(cell: Any, text: bool) -> Any:
    if text:
        return None if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)
    if isinstance(cell, decimal.Decimal | int | float) or cell is None:
        return np.nan if cell is None else float(cell)
    raise TypeError("not a number")
