"""Connections that stay open between charges, and when a transaction may be tried again.

They bypass SQLAlchemy's statements, which would take longer than the charge itself.
"""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from privee.durable import database as settings
from privee.durable.database import LedgerUnavailableError, unavailable
from privee.durable.private_files import SameFile

WRITERS, READERS = 4, 4
TRIES = 6
_COLLISIONS = {"40001", "40P01"}

T = TypeVar("T")


class _UncertainError(Exception):
    """The commit was sent, and nobody said whether it happened."""


class Connections:
    """A few open connections; safe to use from several threads.

    Args:
        engine: the ledger's.
        writes: each run is one transaction, durable when it returns. SQLite has one writer, so its runs queue here.
        same: is asked before each run whether the files are still the same.
    """

    def __init__(self, engine: sa.Engine, *, writes: bool, same: SameFile | None = None) -> None:
        embedded = settings.is_sqlite(engine)
        self._engine = engine
        self._begin = "" if not writes else "BEGIN IMMEDIATE" if embedded else "BEGIN ISOLATION LEVEL READ COMMITTED"
        self._errors = (engine.dialect.loaded_dbapi.Error, exc.DBAPIError, exc.TimeoutError)
        self._embedded, self._same = embedded, same
        self._count = READERS if not writes else 1 if embedded else WRITERS
        self._free: queue.LifoQueue[Any] = queue.LifoQueue()
        for _ in range(self._count):
            self._free.put(None)

    def run(self, work: Callable[[Any], T]) -> T:
        """Do the work with a cursor. Anything it raises undoes all of it.

        Raises:
            LedgerUnavailableError: the work is not known to be stored; tried again only while nothing can have been.
        """
        connection, left = self._take(), TRIES
        try:
            while True:
                left -= 1
                try:
                    connection = connection or self._open()
                    return self._once(connection, work)
                except self._errors as error:
                    passing = self._is_passing(error, connection)
                    connection = _discard(connection)
                    if not (passing and left):
                        raise unavailable(error) from None
                    time.sleep(random.uniform(0, 0.02))  # noqa: S311 - two that collided must not do so in step
        except _UncertainError as uncertain:
            connection = _discard(connection)
            raise unavailable(uncertain.args[0]) from None
        except BaseException:
            connection = _roll_back(connection)
            raise
        finally:
            self._free.put(connection)

    def close(self) -> None:
        """Waits for what is under way; nothing can be run from then on."""
        closing, self._count = self._count, 0
        for _ in range(closing):
            _discard(self._free.get())

    def _take(self) -> Any:
        if not self._count:
            raise LedgerUnavailableError("the ledger is closed: open it again")
        try:
            return self._free.get(timeout=settings.BUSY_SECONDS)
        except queue.Empty:
            raise LedgerUnavailableError("the ledger is too busy: ask less at once, or use PostgreSQL") from None

    def _open(self) -> Any:
        connection: Any = self._engine.raw_connection()
        if not self._embedded:
            connection.dbapi_connection.autocommit = True  # transactions are begun here, where they are needed
        return connection

    def _once(self, connection: Any, work: Callable[[Any], T]) -> T:
        if self._same:
            self._same.check()
        cursor = connection.cursor()
        if self._begin:
            cursor.execute(self._begin)
        result = work(cursor)
        try:
            connection.commit()
        except self._errors as error:
            raise _UncertainError(error) from None
        return result

    def _is_passing(self, error: BaseException, connection: Any) -> bool:
        """Two transactions collided, or an open connection was lost: then the database undid everything."""
        if connection is None or self._embedded:
            return False
        return getattr(error, "sqlstate", None) in _COLLISIONS or connection.dbapi_connection.closed


def _discard(connection: Any) -> Any:
    if connection is not None:
        connection.invalidate()
    return None


def _roll_back(connection: Any) -> Any:
    try:
        if connection is not None:
            connection.rollback()
    except Exception:  # whatever is wrong with it, it is not used again
        return _discard(connection)
    return connection
