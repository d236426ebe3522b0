"""A table in SQLite or PostgreSQL: how to reach it without ever writing, and what its columns and ids are."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from privee.errors import PriveeError

POOL = 4
STATEMENT_MS = 10_000
LARGEST = 2**63

ToId = Callable[[str], Any]


def connect(url: str) -> sa.Engine:
    """An engine that reads only; nothing is opened yet."""
    try:
        parsed = sa.make_url(url)
        kind = parsed.get_backend_name()
    except sa.exc.ArgumentError:
        raise PriveeError("a database's address is like postgresql://user@host/name or sqlite:///file.db") from None
    common: dict[str, Any] = {"hide_parameters": True, "isolation_level": "AUTOCOMMIT"}
    if kind == "sqlite":
        if not parsed.database:
            raise PriveeError("a SQLite database is a file: sqlite:///file.db")
        file = parsed.set(database=f"file:{quote(parsed.database)}", query={"mode": "ro", "uri": "true"})
        return sa.create_engine(file, **common)
    if kind == "postgresql":
        options = f"-c default_transaction_read_only=on -c statement_timeout={STATEMENT_MS}"
        arguments = {"options": options, "connect_timeout": 5}
        driver = parsed.set(drivername="postgresql+psycopg")
        return sa.create_engine(driver, connect_args=arguments, pool_pre_ping=True, pool_size=POOL, **common)
    raise PriveeError(f"a party's table is read from SQLite or PostgreSQL, not from {kind}")


def reflect(engine: sa.Engine, table: str, needed: Sequence[str]) -> dict[str, sa.Column[Any]]:
    """The needed columns, as the database describes them."""
    inspector = sa.inspect(engine)
    schema: str | None = None
    name = table
    if "." in table and not inspector.has_table(table):
        schema, name = table.split(".", 1)
    try:
        held = {one["name"]: one["type"] for one in inspector.get_columns(name, schema=schema)}
    except sa.exc.NoSuchTableError:
        raise PriveeError(f"the database has no table {table!r}") from None
    absent = [column for column in needed if column not in held]
    if absent:
        raise PriveeError(f"the table {table!r} has no column {absent[0]!r}")
    made = sa.Table(name, sa.MetaData(), *(sa.Column(column, held[column]) for column in needed), schema=schema)
    return {column: made.c[column] for column in needed}


def id_type(column: sa.Column[Any], name: str) -> tuple[sa.types.TypeEngine[Any], ToId]:
    """The type to compare ids in, and how an entity's name becomes an id; None if it cannot be one of this type."""
    kind = column.type
    if isinstance(kind, sa.Integer):
        return sa.BigInteger(), _whole
    if isinstance(kind, sa.Uuid):
        return sa.Uuid(), _uuid
    if isinstance(kind, sa.String):
        return sa.String(), lambda text: None if "\0" in text else text
    raise PriveeError(f"the id column {name!r} must hold text, whole numbers or UUIDs")


def _whole(text: str) -> int | None:
    """7 is 7, but 007 and +7 are other entities, as in a file."""
    digits = text.removeprefix("-")
    value = int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None
    return value if value is not None and str(value) == text and -LARGEST <= value < LARGEST else None


def _uuid(text: str) -> uuid.UUID | None:
    try:
        value = uuid.UUID(text)
    except ValueError:
        return None
    return value if str(value) == text else None
