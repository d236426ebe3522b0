"""What watches over a SQLite ledger's files while it is open, so that no count is lost unnoticed."""

from __future__ import annotations

import contextlib
import time

import sqlalchemy as sa

from privee.gateway.ledger.connections import Connections
from privee.gateway.ledger.files import SameFile
from privee.gateway.ledger.losses import bring_up_to_date, keep_mark
from privee.gateway.ledger.mark import Mark, Tally
from privee.gateway.ledger.secrets import Subkeys
from privee.gateway.ledger.trouble import LedgerUnavailable

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
            raise LedgerUnavailable("the ledger is closed, or was opened for reading alone")
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
            with contextlib.suppress(LedgerUnavailable), mark:  # what was released is in it already
                bring_up_to_date(mark, self._engine, now)
        self.same.close()
