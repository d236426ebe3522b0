"""Counts that a SQLite ledger has lost: how that shows against its mark, and how it is accepted.

A guard watches over its files while it is open, so that none is lost unnoticed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from privee.errors import PriveeError
from privee.gateway.budget.price import CAP, Price
from privee.gateway.ledger import audit_chain
from privee.gateway.ledger.connections import Connections
from privee.gateway.ledger.database import LedgerUnavailableError, clear_errors
from privee.gateway.ledger.mark import MISSING, Mark, Tally, path_for, read_mark, read_tally
from privee.gateway.ledger.private_files import SameFile
from privee.gateway.ledger.schema import spending, tally
from privee.gateway.ledger.secrets import Subkeys


def compare(engine: sa.Engine, keys: Subkeys) -> tuple[Tally | None, str | None]:
    """The mark, read before the database, so that it is not ahead of it; and what it shows to be lost, in words."""
    kept, words = None, None
    try:
        kept = read_mark(engine, keys.mark)
    except LedgerUnavailableError as error:
        words = str(error)
    with engine.execution_options(reads=True).connect() as connection:
        found, marked = read_tally(connection)
    if kept is None:
        return None, words or (MISSING if marked else None)
    return kept, found.lost(kept)


def keep_mark(engine: sa.Engine, keys: Subkeys, now: int) -> Mark:
    """The mark of a ledger that has lost nothing; from now on it must be there."""
    mark = Mark(engine, keys.mark)
    if not bring_up_to_date(mark, engine, now):
        with clear_errors(), engine.begin() as connection:
            connection.execute(sa.update(tally).values(marked=1))
    return mark


def bring_up_to_date(mark: Mark, engine: sa.Engine, now: int) -> bool:
    """Write what is committed; tells whether the database knew that there is a mark."""
    with clear_errors(), engine.execution_options(reads=True).connect() as connection:
        found, marked = read_tally(connection)
    mark.keep(found._replace(at=now), sync=True)
    return marked


def accept(engine: sa.Engine, keys: Subkeys, *, reason: str, actor: str, now: int, spend_all: bool) -> None:
    """Go on with a database that has lost counts; from here on it is as far as its mark."""
    reason = audit_chain.check_text(reason, "the reason", audit_chain.REASON)
    kept, lost = compare(engine, keys)
    if lost is None:
        raise PriveeError("nothing is known to be lost in this ledger, so there is nothing to accept")
    with clear_errors(), engine.begin() as connection:
        found, _ = read_tally(connection)
        further = Tally(*map(max, zip(found, kept or found, strict=True)))
        connection.execute(sa.update(tally).values(commits=further.commits, charged=further.charged))
        details = {
            "commits_lost": further.commits - found.commits if kept else None,
            "charges_lost": further.charged - found.charged if kept else None,
            "spent": _spend_all(connection, now) if spend_all else 0,
        }
        entry: Mapping[str, Any] = {"actor": actor, "subject": "ledger", "reason": reason, "details": details}
        audit_chain.append(connection, keys.chain, at=now, act="ledger.accept-loss", **entry)
    if kept is None:
        path_for(engine).unlink(missing_ok=True)
    with keep_mark(engine, keys, now):
        pass


def _spend_all(connection: sa.Connection, now: int) -> int:
    """Every entity that is known counts as spent, until it is reset or its window ends; tells how many.

    No window ends what was asked: until it is reset, no other variant is answered.
    """
    full = dict.fromkeys(Price._fields, CAP) | {"window_started": now, "variants": CAP}
    return connection.execute(sa.update(spending).values(full)).rowcount


CHECKPOINT_SECONDS = 5.0
"""How long counts stay in the `-wal` file alone while charges go on; what is there too is not lost with it."""


class Guard:
    """Notices files that were removed or replaced, keeps the mark, and copies counts from the `-wal` file in time.

    Args:
        engine, keys, now: of the ledger.
        marked: False for one that is only read, though its mark is wrong.
    """

    def __init__(self, engine: sa.Engine, keys: Subkeys, now: int, *, marked: bool = True) -> None:
        self.same, self._engine = SameFile(engine), engine
        self._mark = keep_mark(engine, keys, now) if marked else None
        self._copied = time.monotonic()
        if self._mark:
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
            reading.run(lambda cursor: cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall())
        self.mark.keep(tally, sync=due)
        self.same.committed = tally.commits

    def close(self, now: int) -> None:
        """Let go of the files; the mark then covers administrative acts, too."""
        mark, self._mark = self._mark, None
        if mark is not None:
            with contextlib.suppress(LedgerUnavailableError), mark:  # what was released is in it already
                bring_up_to_date(mark, self._engine, now)
        self.same.close()
