"""The HTTP server: uvicorn's, with limits on the head of a request, and a stop that cuts nobody off."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 10.0
FAREWELL_SECONDS = 0.5
"""After the listening ends, connections are open this much longer; every answer on them says it is the last."""


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
        """A head begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is here."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class GatewayServer(uvicorn.Server):
    """Stops in two steps, because a request may be on its way while its connection is being closed."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connections, answer what comes on the open ones for a moment, then close them."""
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        for connection in self.server_state.connections:
            if (cycle := getattr(connection, "cycle", None)) is not None:
                cycle.keep_alive = False
        end = asyncio.get_running_loop().time() + FAREWELL_SECONDS
        while self.server_state.connections and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)
