"""A response's head and body in one write: two would be two calls of the system, and wake its reader twice."""

from __future__ import annotations

import asyncio
from typing import Any


class OneWrite:
    """Stands before a connection's transport for one response. The first write waits for the second, this turn at most.

    Args:
        transport: the connection's.
        loop: that it belongs to.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: bytes | None = None
        self._begun = False

    def write(self, data: bytes) -> None:
        """Hold the head back; with what comes next it leaves, and nothing is held from then on."""
        if self._held is not None:
            held, self._held = self._held, None
            self._transport.writelines((held, data))
        elif self._begun:
            self._transport.write(data)
        else:
            self._held, self._begun = data, True
            self._loop.call_soon(self._let_go)  # a body may take its time

    def close(self) -> None:
        """What is held leaves first."""
        self._let_go()
        self._transport.close()

    def _let_go(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
