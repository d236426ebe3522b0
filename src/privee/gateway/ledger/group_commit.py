"""The ledger from an event loop: charges that wait at the same time share one transaction, hence one sync to disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Receipt, RefusedError

Result = TypeVar("Result")
Waiting = tuple[ChargeRequest, asyncio.Future[Receipt]]
MOST_AT_ONCE = 64


class GroupCommit:
    """Charges and reads on worker threads; those of one turn of the event loop, or that come meanwhile, go together."""

    def __init__(self, ledger: Ledger, *, writers: int) -> None:
        self.ledger = ledger
        self._pool = ThreadPoolExecutor(writers, thread_name_prefix="ledger")
        self._reads = ThreadPoolExecutor(2, thread_name_prefix="ledger-reads")
        self._free = writers
        self._waiting: list[Waiting] = []
        self._busy: set[asyncio.Future[list[Receipt | RefusedError]]] = set()

    def charge(self, ask: ChargeRequest) -> asyncio.Future[Receipt]:
        """Durable when it is done; may raise Refused- or LedgerUnavailableError: then nothing was counted for sure.

        It is under way before anybody waits for it, and goes on if nobody does.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Receipt] = loop.create_future()
        if not self._waiting and self._free:  # at the end of this turn: who leaves first would leave alone
            loop.call_soon(self._start, loop)
        self._waiting.append((ask, future))
        return future

    async def read(self, work: Callable[..., Result], *args: object) -> Result:
        """Run a blocking call of the ledger."""
        return await asyncio.get_running_loop().run_in_executor(self._reads, work, *args)

    async def close(self) -> None:
        """Wait for what is under way."""
        while self._busy or self._waiting:
            await asyncio.wait(self._busy) if self._busy else await asyncio.sleep(0)
        self._pool.shutdown()
        self._reads.shutdown()
        self.ledger.close()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._free:
            group, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            self._free -= 1
            work = loop.run_in_executor(self._pool, self.ledger.charge_many, [ask for ask, _ in group])
            self._busy.add(work)
            work.add_done_callback(partial(self._charged, group, loop))

    def _charged(
        self,
        group: Sequence[Waiting],
        loop: asyncio.AbstractEventLoop,
        work: asyncio.Future[list[Receipt | RefusedError]],
    ) -> None:
        self._free += 1
        self._busy.discard(work)
        self._start(loop)
        failure = work.exception()
        outcomes = [failure] * len(group) if failure else work.result()
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if not future.done():  # the caller may have gone
                future.set_result(outcome) if isinstance(outcome, Receipt) else future.set_exception(outcome)
