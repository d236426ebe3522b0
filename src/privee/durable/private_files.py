"""The ledger's files, database and key: made so that others cannot read them, checked before they are trusted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from privee.atomic import whole_file
from privee.defenses.secret_keys import new_key
from privee.durable.database import DAMAGED, LedgerUnavailableError, connect, unavailable
from privee.errors import PriveeError


def make_private(engine: sa.Engine) -> None:
    """An empty file that only its owner can read, unless there is one; SQLite gives its other files the same mode."""
    try:
        os.close(os.open(path_of(engine), os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise PriveeError(f"cannot make the ledger {path_of(engine)}: {error.strerror}") from None


@contextlib.contextmanager
def key_file(path: Path) -> Iterator[bool]:
    """A key file that is there already, or a new one, which goes again if the block fails; tells whether it is new."""
    new = not path.exists()
    if new:
        with whole_file(path, private=True) as partial:
            partial.write_bytes(new_key())
    try:
        yield new
    except BaseException:
        if new:
            path.unlink()
        raise


def check_file(engine: sa.Engine, *, new: bool = False) -> None:
    """Refuse a file that is missing, damaged or no database; an empty one is a database that is still to be made."""
    path = path_of(engine)
    if not path.is_file():
        raise PriveeError(f"there is no ledger {path}: privee ledger init makes one")
    if not new and path.stat().st_size == 0:
        raise LedgerUnavailableError(DAMAGED)
    try:
        with engine.execution_options(reads=True).connect() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    except exc.DBAPIError as error:
        raise unavailable(error) from None
    if found != "ok":
        raise LedgerUnavailableError(DAMAGED)


def path_of(engine: sa.Engine) -> Path:
    """Where a database's file is."""
    return Path(engine.url.database or "")


class SameFile:
    """Notices that a file of the ledger was removed or replaced: what is written to it then would be lost.

    Keeps a connection open, since SQLite removes its own `-wal` and `-shm` with the last one.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine, self._connection = engine, engine.raw_connection()
        self._path = str(path_of(engine).absolute())
        self._wal = f"{self._path}-wal"
        self._first = {path: _identity(path) for path in (self._path, self._wal, f"{self._path}-shm")}
        self._longest = self.committed = 0

    def watch(self, path: Path) -> None:
        """Watch another file too."""
        self._first[str(path)] = _identity(str(path))

    def check(self) -> None:
        """Quick enough for every charge."""
        for path, first in self._first.items():
            try:
                found = os.stat(path)
            except OSError:
                found = None
            if found is None or (found.st_dev, found.st_ino) != first:
                name = os.path.basename(path)
                raise LedgerUnavailableError(f"the ledger's file {name} was removed or replaced: start its server anew")
            if path is self._wal:
                self._check_size(found.st_size)

    def _check_size(self, size: int) -> None:
        """It only grows, unless somebody had all of it copied into the database. A new connection sees what is left."""
        if size < self._longest:
            engine = connect(self._engine.url)
            try:
                with engine.execution_options(reads=True).connect() as connection:
                    left = connection.exec_driver_sql("SELECT commits FROM tally").scalar() or 0
            except exc.DBAPIError:
                left = -1
            finally:
                engine.dispose()
            if left < self.committed:
                raise LedgerUnavailableError(
                    "the ledger's -wal file was cut, and counts with it: start its server anew"
                )
        self._longest = size

    def close(self) -> None:
        """From here on the files may go."""
        self._connection.close()  # a second time does nothing


def _identity(path: str) -> tuple[int, int]:
    """Device and number; a file that is not there has numbers that no file has."""
    try:
        found = os.stat(path)
    except OSError:
        return -1, -1
    return found.st_dev, found.st_ino
