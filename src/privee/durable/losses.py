"""Counts that a ledger has lost: how that shows against its mark, and how it is accepted.

A guard watches over its files while it is open, so that none is lost unnoticed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from privee.durable import audit_chain
from privee.durable.connections import Connections
from privee.durable.database import LedgerUnavailableError, clear_errors, is_sqlite
from privee.durable.mark import MISSING, Mark, Tally, path_for, read_mark, read_tally
from privee.durable.private_files import SameFile, path_of
from privee.durable.tables import tally
from privee.errors import PriveeError


class Marked(NamedTuple):
    """A database with a mark.

    Attributes:
        engine: on the database.
        path: of the mark.
        key: it is written with.
        owner: a file of whoever the mark belongs to.
    """

    engine: sa.Engine
    path: Path
    key: bytes
    owner: Path

    @classmethod
    def beside(cls, engine: sa.Engine, key: bytes) -> Marked:
        """A SQLite file, with its mark where SQLite's own files are."""
        return cls(engine, path_for(engine), key, path_of(engine))


def compare(marked: Marked) -> tuple[Tally | None, str | None]:
    """The mark, read before the database, so that it is not ahead of it; and what it shows to be lost, in words.

    SQLite's must be there. Of PostgreSQL each server has its own, and a new server has none yet.
    """
    kept, words = None, None
    try:
        kept = read_mark(marked.path, marked.key)
    except LedgerUnavailableError as error:
        words = str(error)
    with marked.engine.execution_options(reads=True).connect() as connection:
        found, was_marked = read_tally(connection)
    if kept is None:
        return None, words or (MISSING if was_marked and is_sqlite(marked.engine) else None)
    return kept, found.lost(kept)


def keep_mark(marked: Marked, now: int) -> Mark:
    """The mark of a ledger that has lost nothing; from now on it must be there."""
    mark = Mark(marked.path, marked.key, owner=marked.owner)
    if not bring_up_to_date(mark, marked.engine, now):
        with clear_errors(), marked.engine.begin() as connection:
            connection.execute(sa.update(tally).values(marked=1))
    return mark


def bring_up_to_date(mark: Mark, engine: sa.Engine, now: int) -> bool:
    """Write what is committed; tells whether the database knew that there is a mark."""
    with clear_errors(), engine.execution_options(reads=True).connect() as connection:
        found, marked = read_tally(connection)
    mark.keep(found._replace(at=now), sync=True)
    return marked


def accept(
    marked: Marked,
    chain_key: bytes,
    *,
    reason: str,
    actor: str,
    now: int,
    spend: Callable[[sa.Connection], int],
    known: bool = False,
) -> None:
    """Go on with a database that has lost counts; from here on it is as far as its mark.

    Args:
        marked: the database and its mark.
        chain_key: the audit chain's.
        reason: for the log.
        actor: who.
        now: the ledger's time.
        spend: counts entities as spent, in the same transaction, and tells how many.
        known: whether it is known otherwise that something is lost.
    """
    reason = audit_chain.check_text(reason, "the reason", audit_chain.REASON)
    kept, lost = compare(marked)
    if lost is None and not known:
        raise PriveeError("nothing is known to be lost in this ledger, so there is nothing to accept")
    with clear_errors(), marked.engine.begin() as connection:
        found, _ = read_tally(connection)
        further = Tally(*map(max, zip(found, kept or found, strict=True)))
        connection.execute(sa.update(tally).values(commits=further.commits, charged=further.charged))
        details = {
            "commits_lost": further.commits - found.commits if kept else None,
            "charges_lost": further.charged - found.charged if kept else None,
            "spent": spend(connection),
        }
        entry: Mapping[str, Any] = {"actor": actor, "subject": "ledger", "reason": reason, "details": details}
        audit_chain.append(connection, chain_key, at=now, act="ledger.accept-loss", **entry)
    if kept is None:
        marked.path.unlink(missing_ok=True)
    with keep_mark(marked, now):
        pass


CHECKPOINT_SECONDS = 5.0
"""How long counts stay in the `-wal` file alone while charges go on; what is there too is not lost with it."""


class Guard:
    """Notices files that were removed or replaced, keeps the mark, and copies counts from the `-wal` file in time.

    Args:
        marked: the database and its mark.
        now: the ledger's time.
        sound: False for one that is only read, though its mark is wrong.
    """

    def __init__(self, marked: Marked, now: int, *, sound: bool = True) -> None:
        self._engine = marked.engine
        self.same = SameFile(marked.engine) if is_sqlite(marked.engine) else None
        self._mark = keep_mark(marked, now) if sound else None
        self._copied = time.monotonic()
        if self._mark and self.same:
            self.same.watch(self._mark.path)

    @property
    def mark(self) -> Mark:
        """Of a ledger that has lost nothing."""
        if self._mark is None:
            raise LedgerUnavailableError("the ledger is closed, or was opened for reading alone")
        return self._mark

    def keep(self, tally: Tally, reading: Connections) -> None:
        """Before a release leaves."""
        due = time.monotonic() - self._copied > CHECKPOINT_SECONDS
        if due:
            self._copied = time.monotonic()
        if due and self.same:
            reading.run(lambda cursor: cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall())
        self.mark.keep(tally, sync=due)
        if self.same:
            self.same.committed = tally.commits

    def close(self, now: int) -> None:
        """Let go of the files; the mark then covers administrative acts, too."""
        mark, self._mark = self._mark, None
        if mark is not None:
            with contextlib.suppress(LedgerUnavailableError), mark:  # what was released is in it already
                bring_up_to_date(mark, self._engine, now)
        if self.same:
            self.same.close()
