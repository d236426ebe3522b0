"""A connection to the gateway: uvicorn's, with limits on the head of a request."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from privee.gateway.http.one_write import OneWrite

HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 10.0


class GuardedProtocol(HttpToolsProtocol):
    """A connection whose request lines and headers must be small and come soon; bodies are limited by the app."""

    _in_head = False
    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take the next bytes. Those that began a head are not counted, as a body may be among them."""
        unfinished = self._in_head
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_head()
        if unfinished and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The request's headers are too large.")

    def on_message_begin(self) -> None:
        """Note when the head of a request begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is here."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()
        if self.cycle is not None and self.cycle.transport is self.transport:
            self.cycle.transport = OneWrite(self.transport, self.loop)  # type: ignore[assignment]

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
