"""The application and its server: routes, what happens around every request, and a stop that cuts nobody off.

The server is uvicorn's, with limits on the head of a request.
"""

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
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from privee import traces
from privee.atomic import whole_file
from privee.errors import PriveeError
from privee.gateway.http import admin_routes, inference_routes, ledger_routes, query_routes
from privee.gateway.http.access import Access
from privee.gateway.http.middleware import Metrics, Observed
from privee.gateway.http.one_write import OneWrite
from privee.gateway.http.plain_route import Shortcut, plain_routes
from privee.gateway.http.problems import handle_problems
from privee.gateway.http.shared_metrics import SharedMetrics
from privee.gateway.http.traced import Traced
from privee.gateway.http.workers import Workers
from privee.gateway.service import Service, open_service
from privee.gateway.settings import GatewaySettings
from privee.gateway.ui import audit_page, consumers, docs_page, exports, pages
from privee.logs import log, start_logging
from privee.net import Address
from privee.pki.identity import TlsFiles
from privee.version import __version__

if TYPE_CHECKING:
    from privee.gateway.rpc.server import RpcServer

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


GRACE_SECONDS = 10
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


class GatewayApp(FastAPI):
    """An application that queries go past, as FastAPI's own middleware takes time of each; nothing else does."""

    front: Shortcut | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self.front is None or not await self.front.answers(self, scope, receive, send):
            await super().__call__(scope, receive, send)


DESCRIPTION = """Protected predictions of a model (Open Inference Protocol).

`POST /v2/models/{model}/infer` with entity ids; the answer holds a release for each, never the scores, and each is
counted before it leaves."""


def make_app(service: Service, *, shared: Path | None = None) -> FastAPI:
    """An application on an opened service; it closes the service when it ends.

    Args:
        service: all that is behind the routes.
        shared: a folder for what several workers must know of each other.
    """
    metrics = Metrics()
    together = None if shared is None else SharedMetrics(metrics, shared)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        settings, writing = service.settings, asyncio.create_task(together.keep_writing()) if together else None
        variants = service.ledger.limits.variants if settings.counted else None
        log("started", model=service.model.name, defense=settings.defense.spec, variants=variants)
        with traces.exported(settings.traces):
            yield
            if app.state.rpc is not None:  # calls under way need the service
                await app.state.rpc.stop(GRACE_SECONDS)
            await service.close()
        if writing is not None:
            writing.cancel()
            await asyncio.wait([writing])
        log("stopped")

    app = GatewayApp(
        title="privee gateway",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    app.state.service, app.state.metrics, app.state.shared = service, metrics, shared
    app.state.all_metrics, app.state.rpc = together or metrics, None
    settings = service.settings
    app.state.access = Access(service.keys, service.read, unknown=settings.unknown, workers=settings.workers)
    handle_problems(app)
    for module in (inference_routes, query_routes, ledger_routes, admin_routes):
        app.include_router(module.router)
    for page in (pages, consumers, exports, audit_page, docs_page):
        app.include_router(page.router)
    app.include_router(pages.front)
    around: list[tuple[Any, dict[str, Any]]] = [] if settings.traces is None else [(Traced, {})]
    limits = {"max_body": settings.max_body, "admit": app.state.access.admit}
    around.append((Observed, {"metrics": metrics, **limits}))
    for layer, given in reversed(around):  # the last to be added is outermost
        app.add_middleware(layer, **given)
    app.front = Shortcut(plain_routes(query_routes.router), lambda inner: _within(inner, around))
    return app


def _within(inner: ASGIApp, around: Sequence[tuple[Any, dict[str, Any]]]) -> ASGIApp:
    """In these layers, the first of them outermost."""
    for layer, given in reversed(around):
        inner = layer(inner, **given)
    return inner
