"""Who may see the dashboard: signing in with an API key, and what is asked of every later request.

The cookie holds a random token, of which only a hash is kept here. A session holds the key's id, never its text:
with the id each page can ask the ledger whether the key is still valid, and whoever reads this memory gets no key.
"""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from fastapi import Depends, Request, Response
from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from privee.gateway.http.access import Access
from privee.gateway.http.problems import DeniedError
from privee.gateway.ledger.api_keys import KeyRecord
from privee.gateway.service import Service
from privee.gateway.ui.sessions import LIFE_SECONDS, MOST, Sessions
from privee.gateway.ui.shared_sessions import SharedSessions

__all__ = ["LIFE_SECONDS", "MOST", "Sessions", "SignIn", "sign_in_of"]

ROLES = ("auditor", "administrator")
COOKIE = "privee_session"
PATH = "/ui"
FAILURES = parse("10/minute")


class NotSignedInError(Exception):
    """There is no session, or it has ended, or its key is no longer valid."""


class SignIn:
    """One application's sessions and failed attempts to sign in."""

    def __init__(self, sessions: Sessions | SharedSessions) -> None:
        self.sessions = sessions
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
        shared = state.shared
        state.sign_in = SignIn(Sessions() if shared is None else SharedSessions(shared / "sessions.db"))
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
