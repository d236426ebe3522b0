"""Sessions of several workers: whoever signs in at one is known to all. In a file that ends with the gateway."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from privee.gateway.ui.sessions import LIFE_SECONDS, MOST, tag_of

_TABLE = "CREATE TABLE IF NOT EXISTS sessions (tag BLOB PRIMARY KEY, key_id TEXT NOT NULL, ends REAL NOT NULL)"
_TOO_MANY = f"DELETE FROM sessions WHERE tag IN (SELECT tag FROM sessions ORDER BY ends DESC LIMIT -1 OFFSET {MOST})"  # noqa: S608


class SharedSessions:
    """As `Sessions`: hashes of tokens and ids of keys, neither tokens nor keys.

    Args:
        file: in a folder that nobody else can read.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def start(self, key_id: str) -> str:
        """A new session's token, for the cookie."""
        token, now = secrets.token_urlsafe(32), time.time()
        with self._open() as table:
            table.execute("DELETE FROM sessions WHERE ends <= ?", (now,))
            table.execute("INSERT INTO sessions VALUES (?, ?, ?)", (tag_of(token), key_id, now + LIFE_SECONDS))
            table.execute(_TOO_MANY)
        return token

    def key_id(self, token: str) -> str | None:
        """Whose session it is, if it has not ended."""
        with self._open() as table:
            found = table.execute("SELECT key_id, ends FROM sessions WHERE tag = ?", (tag_of(token),)).fetchone()
        return found[0] if found is not None and found[1] > time.time() else None

    def end(self, token: str) -> None:
        """Forget a session."""
        with self._open() as table:
            table.execute("DELETE FROM sessions WHERE tag = ?", (tag_of(token),))

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._file, timeout=10)) as table, table:
            table.execute(_TABLE)
            yield table
