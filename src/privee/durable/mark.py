"""A mark beside a SQLite file: how much was committed, kept apart, so that a database that forgot some of it shows.

A removed `-wal` file and an old backup both leave a sound database with lower counts. The mark is written after each
commit and before the release leaves, so it is never ahead of what was committed; without the ledger's key it cannot be
written. What it cannot show: that the mark itself was put back together with the database.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from privee.durable.database import LedgerUnavailableError
from privee.durable.private_files import path_of
from privee.durable.tables import tally

_TITLE = "privee ledger mark 1"
_LONGEST = 256
_COUNT = "UPDATE tally SET commits = commits + 1, charged = charged + {} RETURNING commits, charged"
_WAY_OUT = "or take the loss with privee ledger accept-loss (of a party: privee party accept-loss)"
MISSING = (
    "the ledger's mark (the file that ends in -mark, beside the database) is missing or not its own, so lost counts "
    f"would not show: put it back, {_WAY_OUT}"
)


class Tally(NamedTuple):
    """Charging transactions and administrative acts committed, entities charged in them, and the ledger's time."""

    commits: int
    charged: int
    at: int

    def lost(self, kept: Tally) -> str | None:
        """What to say if a mark has kept more than this."""
        if self.commits >= kept.commits:
            return None
        charges = max(kept.charged - self.charged, 0)
        return (
            f"the ledger has lost counts, about {charges} charges in its last {kept.commits - self.commits} commits "
            f"(its -wal file was removed, or an old copy was put back): put back the newest copy, {_WAY_OUT}"
        )


class Mark:
    """The open file, made if it is not there; safe to use from several threads and processes. A context closes it."""

    def __init__(self, path: Path, key: bytes, *, owner: Path) -> None:
        self.path, self._key = path, key
        self._known, self._lock = (b"", Tally(0, 0, 0)), threading.Lock()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerUnavailableError(f"cannot open {self.path.name}: {error.strerror}") from None
        with contextlib.suppress(OSError):  # made by root, it still belongs to whom the database does
            whose = owner.stat()
            os.fchown(self._file, whose.st_uid, whose.st_gid)

    def count(self, cursor: Any, charged: int, now: int) -> Tally:
        """In a transaction that charges: one commit more. Refuses a database that forgot some of them meanwhile."""
        cursor.execute(_COUNT.format(int(charged)))
        ((commits, total),) = cursor.fetchall()
        words = Tally(commits - 1, total - charged, now).lost(self._read_whole())
        if words:
            raise LedgerUnavailableError(words)
        return Tally(commits, total, now)

    def keep(self, found: Tally, *, sync: bool = False) -> None:
        """What is committed by now; others may have kept more already."""
        import fcntl

        try:
            with self._lock:
                fcntl.flock(self._file, fcntl.LOCK_EX)  # other processes wait, too
                try:
                    self._write(Tally(*map(max, zip(self._read(), found, strict=True))))
                    if sync:
                        os.fsync(self._file)
                finally:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
        except OSError as error:
            raise LedgerUnavailableError(f"cannot write {self.path.name}: {error.strerror}") from None

    def __enter__(self) -> Mark:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def _read_whole(self) -> Tally:
        """Another process may be writing at this moment; what looks damaged is read again when it is not."""
        import fcntl

        try:
            return self._read()
        except LedgerUnavailableError:
            with self._lock:
                fcntl.flock(self._file, fcntl.LOCK_EX)
                try:
                    return self._read()
                finally:
                    fcntl.flock(self._file, fcntl.LOCK_UN)

    def _read(self) -> Tally:
        """Nothing, if it was just made."""
        content = os.pread(self._file, _LONGEST, 0)
        if content != self._known[0]:
            self._known = (content, _parsed(content, self._key))
        return self._known[1]

    def _write(self, kept: Tally) -> None:
        content = _signed(kept, self._key)
        os.pwrite(self._file, content, 0)
        self._known = (content, kept)


def path_for(engine: sa.Engine) -> Path:
    """Where the mark is: beside the database, as SQLite's own files."""
    path = path_of(engine).absolute()
    return path.with_name(f"{path.name}-mark")


def read_mark(path: Path, key: bytes) -> Tally | None:
    """What was kept; None if there is no mark, or one that was just made.

    Raises:
        LedgerUnavailableError: it was not written with this key.
    """
    try:
        content = path.read_bytes()[:_LONGEST]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnavailableError(f"cannot read {path.name}: {error.strerror}") from None
    return _parsed(content, key) if content else None


def read_tally(connection: sa.Connection) -> tuple[Tally, bool]:
    """What the database says is committed, and whether a mark was kept for it."""
    commits, charged, marked = connection.execute(sa.select(tally.c.commits, tally.c.charged, tally.c.marked)).one()
    return Tally(commits, charged, 0), bool(marked)


def _signed(found: Tally, key: bytes) -> bytes:
    """Always as long, and short enough for one sector of a disk."""
    line = " ".join([_TITLE, *(f"{number:019d}" for number in found)])
    return f"{line} {hmac.digest(key, line.encode(), 'sha256').hex()}\n".encode()


def _parsed(content: bytes, key: bytes) -> Tally:
    try:
        found = Tally(*map(int, content.split()[-4:-1]))
    except (TypeError, ValueError):
        raise LedgerUnavailableError(MISSING) from None
    if not hmac.compare_digest(_signed(found, key), content):
        raise LedgerUnavailableError(MISSING)
    return found
