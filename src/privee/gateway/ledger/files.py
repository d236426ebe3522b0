"""The ledger's files, database and key: made so that others cannot read them, checked before they are trusted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from privee.atomic import whole_file
from privee.defenses.keys import new_key
from privee.errors import PriveeError
from privee.gateway.ledger.trouble import DAMAGED, LedgerUnavailable, unavailable


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
        raise LedgerUnavailable(DAMAGED)
    try:
        with engine.execution_options(reads=True).connect() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    except exc.DBAPIError as error:
        raise unavailable(error) from None
    if found != "ok":
        raise LedgerUnavailable(DAMAGED)


def path_of(engine: sa.Engine) -> Path:
    """Where the file is."""
    return Path(engine.url.database or "")


class SameFile:
    """Notices that the file was removed or replaced: what is written to it then would be lost."""

    def __init__(self, engine: sa.Engine) -> None:
        self._path = path_of(engine).absolute()
        self._first = self._identity()

    def check(self) -> None:
        """Quick enough for every charge."""
        if self._identity() != self._first:
            raise LedgerUnavailable("the ledger's file was removed or replaced: start the gateway anew")

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino
