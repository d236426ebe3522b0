"""Sessions of the dashboard. Only hashes of tokens are kept, and the ids of keys, never a token or a key."""

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
        self._open[tag_of(token)] = _Session(key_id, now + LIFE_SECONDS)
        return token

    def key_id(self, token: str) -> str | None:
        """Whose session it is, if it has not ended."""
        session = self._open.get(tag_of(token))
        return session.key_id if session is not None and session.ends > self._clock() else None

    def end(self, token: str) -> None:
        """Forget a session."""
        self._open.pop(tag_of(token), None)


def tag_of(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
