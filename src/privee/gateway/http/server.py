"""The gateway's server: uvicorn's, with a stop that cuts nobody off."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import ssl
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from privee.atomic import whole_file
from privee.errors import PriveeError
from privee.gateway.http.app import GRACE_SECONDS, make_app
from privee.gateway.http.connection import GuardedProtocol
from privee.gateway.http.workers import Workers
from privee.gateway.service import Service, open_service
from privee.gateway.settings import GatewaySettings
from privee.logs import start_logging
from privee.net import Address
from privee.pki.identity import TlsFiles

if TYPE_CHECKING:
    from privee.gateway.rpc.server import RpcServer

FAREWELL_SECONDS = 0.5
"""After the listening ends, connections are open this much longer; every answer on them says it is the last."""


class GatewayServer(uvicorn.Server):
    """Stops in two steps, because a request may be on its way while its connection is being closed.

    Args:
        config: uvicorn's.
        told: called once it serves.
        rpc: the same over gRPC, started and stopped together.
    """

    def __init__(self, config: uvicorn.Config, told: Callable[[], None], rpc: RpcServer | None = None) -> None:
        super().__init__(config)
        self._told, self._rpc = told, rpc

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        if self.started:
            if self._rpc is not None:
                await self._rpc.start()
            self._told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connections, answer what comes on the open ones for a moment, then close them."""
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        ending = [] if self._rpc is None else [asyncio.create_task(self._rpc.stop(GRACE_SECONDS))]
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        for connection in self.server_state.connections:
            if (cycle := getattr(connection, "cycle", None)) is not None:
                cycle.keep_alive = False
        end = asyncio.get_running_loop().time() + FAREWELL_SECONDS
        while self.server_state.connections and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)
        await asyncio.gather(*ending)


BACKLOG = 2048


def serve(settings: GatewaySettings, *, ready_file: Path | None = None, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; requests under way are finished first."""
    service = open_service(settings)
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(_listen(settings.host, settings.port))
        held = None if settings.grpc_port is None else stack.enter_context(_held(settings))
        where = {"url": f"{'https' if settings.secured else 'http'}://{_address(settings, listening)}"}
        where |= {} if held is None else {"grpc": _address(settings, held)}
        if ready_file is not None:
            stack.callback(ready_file.unlink, missing_ok=True)
        start_logging()

        def greet() -> None:
            announce(" and gRPC on ".join(where.values()))

        def ready() -> None:
            if ready_file is not None:
                with whole_file(ready_file, force=True) as partial:
                    partial.write_text(json.dumps(where | {"pid": os.getpid()}), encoding="utf-8")
            if settings.workers > 1:
                greet()

        if settings.workers == 1:
            greet()  # above the log; who connects now is answered soon
            _run(service, listening, held, told=ready)
        else:
            service.discard()  # each worker opens its own; this was to see that it can
            _run_workers(settings, listening, held, ready)


def _run(
    service: Service,
    listening: socket.socket,
    held: socket.socket | None,
    *,
    told: Callable[[], None],
    shared: Path | None = None,
) -> None:
    app = make_app(service, shared=shared)
    app.state.rpc = None if held is None else _rpc(app, held)
    server = GatewayServer(_hardened(_config(service.settings, app)), told, app.state.rpc)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn stops first, then sends itself the signal again
    server.run(sockets=[listening])


def _run_workers(
    settings: GatewaySettings, listening: socket.socket, held: socket.socket | None, ready: Callable[[], None]
) -> None:
    with tempfile.TemporaryDirectory(prefix="privee-workers-") as folder:  # nobody else can read it

        def work(told: Callable[[], None]) -> None:
            _run(open_service(settings), listening, held, told=told, shared=Path(folder))

        Workers(settings.workers, work, listening).run(ready)


def _held(settings: GatewaySettings) -> socket.socket:
    from privee.gateway.rpc.server import reserve  # needs protobuf, and not everybody gRPC

    return reserve(settings)


def _rpc(app: FastAPI, held: socket.socket) -> RpcServer:
    from privee.gateway.rpc.server import RpcServer

    return RpcServer(app.state, held)


def _config(settings: GatewaySettings, app: object) -> uvicorn.Config:
    tls = {}
    if settings.secured and settings.certs is not None:
        files = TlsFiles.from_folder(settings.certs / "coordinator")
        tls = {"ssl_certfile": str(files.cert), "ssl_keyfile": str(files.key)}
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # anybody can send them
        date_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=30,
        http=GuardedProtocol,
        **tls,  # type: ignore[arg-type]
    )


def _hardened(config: uvicorn.Config) -> uvicorn.Config:
    """TLS as it should be whatever the system's defaults are, and without handshakes in mid-connection."""
    config.load()
    if config.ssl is not None:
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
        config.ssl.options |= ssl.OP_NO_RENEGOTIATION
    return config


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise PriveeError(f"cannot listen on {host}:{port}: {error.strerror}") from None


def _address(settings: GatewaySettings, bound: socket.socket) -> str:
    """As it was given, since certificates are for names."""
    return str(Address(settings.host.strip("[]"), bound.getsockname()[1]))
