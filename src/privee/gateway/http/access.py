"""Who may ask: API keys by role and scope, and each key's own rate limit."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from limits import RateLimitItem, parse_many
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from starlette.types import Scope

from privee.durable.database import LedgerUnavailableError
from privee.gateway.http.moving_windows import MovingWindows
from privee.gateway.http.problems import DeniedError
from privee.gateway.ledger.api_keys import KeyRecord, KeyStore

REMEMBERED_SECONDS = 1.0
"""How long a found key is remembered, hence how long a revoked one may still be used."""
MOST_REMEMBERED = 10_000
PAGES = "/ui"

bearer = HTTPBearer(auto_error=False, description="An API key of `privee keys create`.")


class Access:
    """Finds keys and counts their requests.

    Args:
        keys: the ledger's.
        read: runs what blocks.
        unknown: how many ids without a joint record a key may ask about.
        workers: processes that count so; each allows its share of those ids, so that all together allow no more.
    """

    def __init__(
        self, keys: KeyStore, read: Callable[..., Awaitable[KeyRecord | None]], *, unknown: str, workers: int = 1
    ) -> None:
        self._keys, self._read = keys, read
        self._windows = MovingWindows()
        self._unknown = [type(one)(max(1, one.amount // workers), one.multiples) for one in parse_many(unknown)]
        self._strangers = FixedWindowRateLimiter(MemoryStorage())
        self._found: dict[bytes, tuple[float, KeyRecord]] = {}
        self._looking: dict[bytes, asyncio.Future[KeyRecord | None]] = {}

    async def find(self, text: str) -> KeyRecord | None:
        """The key's record, if it is valid now."""
        tag = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        known = self._found.get(tag)
        if known and time.monotonic() - known[0] < REMEMBERED_SECONDS:
            return known[1]
        if (looking := self._looking.get(tag)) is None:  # once for all who ask with it at this moment
            looking = self._looking[tag] = asyncio.ensure_future(self._look(tag, text))
        return await asyncio.shield(looking)

    async def _look(self, tag: bytes, text: str) -> KeyRecord | None:
        try:
            record = await self._read(self._keys.find, text)
        finally:
            del self._looking[tag]
        if record is None:
            self._found.pop(tag, None)
            return None
        if len(self._found) >= MOST_REMEMBERED:
            self._found.clear()
        self._found[tag] = (time.monotonic(), record)
        return record

    async def admit(self, scope: Scope) -> DeniedError | None:
        """Before a body is read: strangers, and keys that ask too often, may not make the gateway read megabytes.

        The pages see to themselves.
        """
        if scope["method"] != "POST" or scope["path"].startswith(PAGES):
            return None
        given = scope["state"]["headers"].get(b"authorization", b"").decode("latin-1")
        try:
            record = await self.known(given)
            scope["state"] |= {"admitted": record, "log": {"key": record.id}}
            self.count(record)
        except DeniedError as denied:
            return denied
        return None

    async def known(self, given: str) -> KeyRecord:
        """The record of the key in `Bearer KEY`; raises if there is none."""
        kind, _, text = given.partition(" ")
        try:
            record = await self.find(text.strip()) if kind.lower() == "bearer" else None
        except LedgerUnavailableError as error:
            raise DeniedError(503, "ledger-unavailable", f"{error}; nothing was released") from None
        if record is None:
            raise NO_KEY
        return record

    def count(self, record: KeyRecord) -> None:
        """One more request with this key."""
        for limit in _limits_of(record.rate):
            if (wait := self._windows.hit(limit, record.id)) is not None:
                raise DeniedError(429, "rate", f"this key may ask {limit}", _retry_after(wait))

    def count_unknown(self, record: KeyRecord, ids: int) -> None:
        """So many ids of which there is no joint record: who is one, is told of a few and not of a whole country."""
        for limit in self._unknown:
            if not self._strangers.hit(limit, record.id, cost=ids):
                reset = self._strangers.get_window_stats(limit, record.id).reset_time
                words = f"some of these entities have no joint record; this key may ask about {limit} such"
                raise DeniedError(429, "rate", words, _retry_after(reset - time.time()))


def _retry_after(seconds: float) -> dict[str, str]:
    return {"retry-after": str(max(1, round(seconds)))}


@functools.lru_cache(maxsize=1024)
def _limits_of(rate: str) -> tuple[RateLimitItem, ...]:
    return tuple(parse_many(rate))


NO_KEY = DeniedError(401, "no-key", "give a valid API key: Authorization: Bearer KEY", {"www-authenticate": "Bearer"})


async def key_of(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> KeyRecord:
    """The record of the request's key."""
    access: Access = request.app.state.access
    admitted: KeyRecord | None = getattr(request.state, "admitted", None)
    if admitted is not None:
        return admitted
    record = None if given is None else await access.find(given.credentials)
    if record is None:
        raise NO_KEY
    request.state.log = {"key": record.id}
    access.count(record)
    return record


Key = Annotated[KeyRecord, Depends(key_of)]


def allow(record: KeyRecord, *roles: str) -> None:
    """Refuse keys of other roles."""
    if record.role not in roles:
        raise DeniedError(
            403, "not-allowed", f"this needs the role {' or '.join(roles)}; the key's role is {record.role}"
        )


def allow_model(record: KeyRecord, model: str) -> None:
    """Refuse models that the key is not scoped to."""
    if not record.covers(model):
        raise DeniedError(403, "not-allowed", "this key is not for this model")
