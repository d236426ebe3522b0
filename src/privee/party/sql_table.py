"""A table in SQLite or PostgreSQL: how to reach it without ever writing, and what its columns and ids are."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import sqlalchemy as sa

from privee.errors import PriveeError

POOL = 4
STATEMENT_MS = 10_000
LARGEST = 2**63


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


class IdForm(NamedTuple):
    """How a column holds ids.

    Attributes:
        kind: The type to compare them in.
        to_id: From an entity's name; None if it cannot be an id of this type.
        to_entity: Back, from what the database says.
    """

    kind: sa.types.TypeEngine[Any]
    to_id: Callable[[str], Any]
    to_entity: Callable[[Any], str] = str


def id_form(engine: sa.Engine, column: sa.Column[Any], name: str) -> IdForm:
    """By the column's type, as the database describes it."""
    kind = column.type
    if isinstance(kind, sa.Integer):
        return IdForm(sa.BigInteger(), _whole)
    if isinstance(kind, sa.Uuid):
        return IdForm(sa.Uuid(), _uuid)
    if isinstance(kind, sa.CHAR) and engine.dialect.name == "postgresql":
        return IdForm(sa.String(), _unpadded, lambda held: str(held).rstrip(" "))
    if isinstance(kind, sa.String):
        return IdForm(sa.String(), _text)
    raise PriveeError(f"the id column {name!r} must hold text, whole numbers or UUIDs")


def _text(text: str) -> str | None:
    return None if "\0" in text else text


def _unpadded(text: str) -> str | None:
    """PostgreSQL fills a char(n) up with blanks and takes no notice of them: only the name without any is its id's."""
    return None if text.endswith(" ") else _text(text)


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
