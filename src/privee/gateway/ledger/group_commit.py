"""The ledger from an event loop: charges that wait at the same time share one transaction, hence one sync to disk."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Receipt, RefusedError

Result = TypeVar("Result")
MOST_AT_ONCE = 64


class GroupCommit:
    """Charges and reads on worker threads; a lone charge leaves at once, those that come meanwhile go together."""

    def __init__(self, ledger: Ledger, *, writers: int) -> None:
        self.ledger = ledger
        self._pool = ThreadPoolExecutor(writers, thread_name_prefix="ledger")
        self._reads = ThreadPoolExecutor(2, thread_name_prefix="ledger-reads")
        self._free = writers
        self._waiting: list[tuple[ChargeRequest, asyncio.Future[Receipt]]] = []
        self._busy: set[asyncio.Task[None]] = set()

    async def charge(self, ask: ChargeRequest) -> Receipt:
        """Durable when it returns; raises Refused- or LedgerUnavailableError; then nothing was counted for sure."""
        future: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._waiting.append((ask, future))
        self._start()
        return await future

    async def read(self, work: Callable[..., Result], *args: object) -> Result:
        """Run a blocking call of the ledger."""
        return await asyncio.get_running_loop().run_in_executor(self._reads, work, *args)

    async def close(self) -> None:
        """Wait for what is under way."""
        while self._busy:
            await asyncio.gather(*self._busy, return_exceptions=True)
        self._pool.shutdown()
        self._reads.shutdown()
        self.ledger.close()

    def _start(self) -> None:
        if not self._waiting or not self._free:
            return
        group, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        self._free -= 1
        task = asyncio.get_running_loop().create_task(self._charge(group))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    async def _charge(self, group: Sequence[tuple[ChargeRequest, asyncio.Future[Receipt]]]) -> None:
        outcomes: Sequence[Receipt | RefusedError | Exception]
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(
                self._pool, self.ledger.charge_many, [ask for ask, _ in group]
            )
        except Exception as error:
            outcomes = [error] * len(group)
        finally:
            self._free += 1
        for (_, future), outcome in zip(group, outcomes, strict=True):
            with contextlib.suppress(asyncio.InvalidStateError):  # the caller may have gone
                future.set_exception(outcome) if isinstance(outcome, Exception) else future.set_result(outcome)
        self._start()
