"""One timer for all requests to a party: a timer for each would cost about as much as sending it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from privee.party.errors import PartyError


class Waits(Protocol):
    """A request that nobody has answered yet."""

    @property
    def expires(self) -> float:
        """In the event loop's time."""

    @property
    def answer(self) -> asyncio.Future[Any]:
        """What it waits for."""


class Deadlines:
    """Fails each request when its time is over. Used in one event loop.

    Args:
        under_way: all requests that wait now.
        late: the error of one that waited too long.
    """

    def __init__(self, under_way: Callable[[], Iterable[Waits]], late: Callable[[], PartyError]) -> None:
        self._under_way, self._late = under_way, late
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0

    def watch(self, expires: float, loop: asyncio.AbstractEventLoop) -> None:
        """From now on somebody waits until then."""
        if self._timer is None or expires < self._next:
            self.close()
            self._next, self._timer = expires, loop.call_at(expires, self._look, loop)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Those who asked first are late first; the next look is when the next of them would be."""
        self._timer, now = None, max(loop.time(), self._next)  # a timer may be early by its clock's grain
        for one in [one for one in self._under_way() if one.expires <= now]:
            one.answer.set_exception(self._late())
        if (left := min((one.expires for one in self._under_way()), default=None)) is not None:
            self.watch(left, loop)
