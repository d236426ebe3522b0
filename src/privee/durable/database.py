"""Connections to a ledger's database: SQLite by default, PostgreSQL for several servers.

What a database says when it cannot work becomes one line for people.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc, make_url

from privee.errors import PriveeError, UnavailableError

BUSY_SECONDS = 10.0
POOL = 12
CHUNK = 500
OLDEST_SQLITE = (3, 35)  # the first with RETURNING
_ROOM = ("cache_size=-32768", "wal_autocheckpoint=4000")  # 32 and 16 MiB, for batches that touch many entities


Row = TypeVar("Row")


def connect(url: str | sa.URL) -> sa.Engine:
    """An engine with safe settings; nothing is opened yet."""
    try:
        parsed = make_url(url)
    except exc.ArgumentError:
        raise PriveeError(
            "the ledger's address must be like sqlite:///ledger.db or postgresql://user@host/name"
        ) from None
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        return _sqlite(parsed)
    if kind == "postgresql":
        return _postgresql(parsed)
    raise PriveeError(f"the ledger keeps its counts in SQLite or PostgreSQL, not in {kind}")


def is_sqlite(engine: sa.Engine) -> bool:
    """Whether this is the embedded database."""
    return engine.dialect.name == "sqlite"


def _sqlite(url: sa.URL) -> sa.Engine:
    if not url.database or url.database == ":memory:" or url.query:
        raise PriveeError("the ledger must outlive its server: give a plain file, such as sqlite:///ledger.db")
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise PriveeError(f"this Python has SQLite {sqlite3.sqlite_version}, and the ledger needs 3.35 or newer")
    file = Path(url.database)
    engine = sa.create_engine(url, creator=lambda: _open_existing(file), pool_size=POOL, hide_parameters=True)
    event.listen(engine, "connect", _durable)
    event.listen(engine, "begin", _begin_writing)
    return engine


def _open_existing(file: Path) -> sqlite3.Connection:
    """Never make a file: an empty one in place of one that was moved away would be a ledger that forgets."""
    address = f"{file.absolute().as_uri()}?mode=rw"
    # isolation_level None: transactions are begun below, not by the driver, which would begin them too late.
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _durable(connection: Any, _record: Any) -> None:
    """A commit is on disk when it returns, also if the power fails."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", *_ROOM):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_writing(connection: sa.Connection) -> None:
    """Take the write lock at once: a lock taken halfway through a transaction can only fail."""
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reads") else "BEGIN IMMEDIATE")


def _postgresql(url: sa.URL) -> sa.Engine:
    driven = url.set(drivername="postgresql+psycopg")
    timeouts = {"connect_timeout": int(BUSY_SECONDS), "tcp_user_timeout": int(1000 * BUSY_SECONDS)}
    engine = sa.create_engine(
        driven,
        connect_args=timeouts,
        isolation_level="READ COMMITTED",
        pool_size=POOL,
        pool_pre_ping=True,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _durable_on_server)
    return engine


def _durable_on_server(connection: Any, _record: Any) -> None:
    """A commit is on the server's disk when it returns, even if the server is set to be quicker."""
    wanted = ("set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",)
    for setting in (*wanted, f"set_config('lock_timeout', '{BUSY_SECONDS:g}s', false)"):
        connection.execute(f"SELECT {setting}")
    connection.commit()


_UNTIL = "nothing is released until then"
_AWAY = "the ledger's database cannot be reached: check that it runs, and its address, name, user and password"
DAMAGED = (
    "the ledger's file is damaged or holds something else: put back its latest copy (a new ledger would forget what "
    "was given away)"
)
_SQLITE = {
    "SQLITE_FULL": f"the ledger's disk is full: make room, {_UNTIL}",
    "SQLITE_IOERR": f"the ledger's disk is full or failed: check it, {_UNTIL}",
    "SQLITE_BUSY": "another process keeps the ledger locked: end it, or use PostgreSQL for several servers",
    "SQLITE_READONLY": "the ledger's file or folder cannot be written: change its permissions",
    "SQLITE_CANTOPEN": "the ledger's file cannot be opened: check its folder and permissions",
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_NOTADB": DAMAGED,
}
_POSTGRESQL = {
    "25006": "the ledger's database is read only: use the primary server",
    "42501": "the ledger's database does not let this user do that: grant it the rights",
    "53100": f"the disk of the ledger's database is full: make room, {_UNTIL}",
    "55P03": "another process keeps the ledger's database locked: end it",
}


class LedgerUnavailableError(UnavailableError):
    """The count cannot be known to be stored, so nothing may be released."""


def unavailable(error: BaseException) -> PriveeError:
    """The error of a driver, or SQLAlchemy's of it, in words."""
    cause = getattr(error, "orig", None) or error
    name = str(getattr(cause, "sqlite_errorname", None) or "")
    state = str(getattr(cause, "sqlstate", None) or "")
    if name == "SQLITE_CONSTRAINT_PRIMARYKEY" or state == "23505":
        return PriveeError("this release id was used before: make a new one for every ask")
    words = _find(_SQLITE, name) or _find(_POSTGRESQL, state)
    if words is None and (name or state):
        words = f"the ledger's database failed with {name or state}: check it, {_UNTIL}"
    return LedgerUnavailableError(words or _AWAY)


def chunks(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Few enough for one statement; databases bound the number of parameters."""
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


@contextmanager
def clear_errors() -> Iterator[None]:
    """For work through SQLAlchemy, which may simply be asked for again."""
    try:
        yield
    except (exc.DBAPIError, exc.TimeoutError) as error:
        raise unavailable(error) from None


def _find(words: Mapping[str, str], code: str) -> str | None:
    return next((line for start, line in words.items() if code.startswith(start)), None)
