"""Who may see the dashboard: signing in with an API key, and what is asked of every later request.

The cookie holds a random token, of which only a hash is kept here. A session holds the key's id, never its text:
with the id each page can ask the ledger whether the key is still valid, and whoever reads this memory gets no key.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Annotated, NamedTuple

from fastapi import Depends, Request, Response
from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from privee.gateway.http.access import Access
from privee.gateway.http.problems import DeniedError
from privee.gateway.ledger.api_keys import KeyRecord
from privee.gateway.service import Service

ROLES = ("auditor", "administrator")
COOKIE = "privee_session"
PATH = "/ui"
FAILURES = parse("10/minute")


class NotSignedInError(Exception):
    """There is no session, or it has ended, or its key is no longer valid."""


class SignIn:
    """One application's sessions and failed attempts to sign in."""

    def __init__(self) -> None:
        self.sessions = Sessions()
        self._failures = MovingWindowRateLimiter(MemoryStorage())
        self._one_at_a_time = asyncio.Lock()  # so that a hundred attempts at once are not one attempt

    async def sign_in(self, access: Access, key: str, address: str) -> tuple[KeyRecord, str] | None:
        """The key's record and a session's token; None for every kind of unfit key alike."""
        async with self._one_at_a_time:
            if not self._failures.test(FAILURES, address):
                reset = self._failures.get_window_stats(FAILURES, address).reset_time
                raise DeniedError(
                    429,
                    "rate",
                    "Too many failed attempts from this address. Try again in a minute.",
                    {"retry-after": str(max(1, round(reset - time.time())))},
                )
            record = await access.find(key)
            if record is None or record.role not in ROLES:
                self._failures.hit(FAILURES, address)
                return None
        return record, self.sessions.start(record.id)


def sign_in_of(request: Request) -> SignIn:
    """The application's sign-in, made when it is first needed."""
    state = request.app.state
    if not hasattr(state, "sign_in"):
        state.sign_in = SignIn()
    sign_in: SignIn = state.sign_in
    return sign_in


async def same_site(request: Request) -> None:
    """Refuse what another site's page sends. The cookie stays away from it as well; this also covers signing in."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin", "")
    if site is None:  # an old browser, or no browser
        here = origin.partition("://")[2] == request.headers.get("host", "nowhere")
        site = "same-origin" if here else "unknown"
    if site != "same-origin":
        raise DeniedError(
            403, "cross-site", "This form was sent from another site. Open the dashboard and send it there."
        )


async def signed_in(request: Request) -> KeyRecord:
    """The valid key behind the session, asked of the ledger every time."""
    token, sign_in = request.cookies.get(COOKIE, ""), sign_in_of(request)
    key_id = sign_in.sessions.key_id(token)
    record = None if key_id is None else await _active(request.app.state.service, key_id)
    if record is None:
        sign_in.sessions.end(token)
        raise NotSignedInError
    request.state.log = {"key": record.id}
    request.app.state.access.count(record)
    return record


Reader = Annotated[KeyRecord, Depends(signed_in)]


def set_cookie(answer: Response, token: str, *, secured: bool) -> None:
    """Send the token along, for this site's own pages alone."""
    answer.set_cookie(COOKIE, token, max_age=LIFE_SECONDS, path=PATH, secure=secured, httponly=True, samesite="strict")


def clear_cookie(answer: Response, *, secured: bool) -> None:
    """Take the token back."""
    answer.delete_cookie(COOKIE, path=PATH, secure=secured, httponly=True, samesite="strict")


async def _active(service: Service, key_id: str) -> KeyRecord | None:
    for record in await service.read(service.keys.list):
        if record.id == key_id and record.role in ROLES and record.state(service.ledger.now()) == "active":
            return record
    return None


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
