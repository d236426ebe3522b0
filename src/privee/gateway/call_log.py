"""Names for calls to parties, written down in the gateway's ledger a moment later and many at once: nobody waits."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from privee.durable.database import LedgerUnavailableError
from privee.gateway.ledger.group_commit import GroupCommit
from privee.gateway.ledger.party_calls import Outcome, SentCall, new_name
from privee.logs import log

SECONDS = 1.0
MOST = 100_000  # that wait while the ledger cannot be written


class CallLog:
    """Used in one event loop; `close` writes what is left."""

    def __init__(self, counter: GroupCommit) -> None:
        self._counter, self._ledger = counter, counter.ledger
        self._waiting: list[SentCall] = []
        self._writing: asyncio.Task[None] | None = None

    def name(self, party: str) -> str:
        """For the next call to this party."""
        return new_name(self._ledger.keys.calls, party)

    def note(self, party: str, name: str, entities: int, outcome: Outcome) -> None:
        """How a call ended."""
        self._waiting.append(SentCall(name, party, self._ledger.now(), entities, outcome))
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write_soon())

    async def close(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._writing
        await self._write()

    async def _write_soon(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(SECONDS)
                await self._write()
        finally:
            self._writing = None

    async def _write(self) -> None:
        calls, self._waiting = self._waiting, []
        if not calls:
            return
        try:
            await asyncio.shield(self._counter.read(self._ledger.record_calls, calls))
        except LedgerUnavailableError:
            self._waiting = [*calls, *self._waiting][-MOST:]
            log("calls to parties not written down yet", level=logging.WARNING, count=len(self._waiting))
