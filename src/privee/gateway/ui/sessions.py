"""Who is signed in to the dashboard, in memory.

The cookie holds a random token, of which only a hash is kept here. A session holds the key's id, never its text:
with the id each page can ask the ledger whether the key is still valid, and whoever reads this memory gets no key.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

LIFE_SECONDS = 8 * 3600
MOST = 1000
"""Sessions at a time; one more ends the oldest."""


class _Session(NamedTuple):
    key_id: str
    ends: float


class Sessions:
    """Sessions of one gateway process; they end with it.

    Args:
        clock: seconds that never jump.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[bytes, _Session] = {}

    def start(self, key_id: str) -> str:
        """A new session's token, for the cookie."""
        now = self._clock()
        self._open = {tag: session for tag, session in self._open.items() if session.ends > now}
        if len(self._open) >= MOST:
            del self._open[next(iter(self._open))]
        token = secrets.token_urlsafe(32)
        self._open[_tag(token)] = _Session(key_id, now + LIFE_SECONDS)
        return token

    def key_id(self, token: str) -> str | None:
        """Whose session it is, if it has not ended."""
        session = self._open.get(_tag(token))
        return session.key_id if session is not None and session.ends > self._clock() else None

    def end(self, token: str) -> None:
        """Forget a session."""
        self._open.pop(_tag(token), None)


def _tag(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
