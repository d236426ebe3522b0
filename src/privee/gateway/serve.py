"""Run the gateway's HTTP server until it is told to stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn

from privee.atomic import whole_file
from privee.errors import PriveeError
from privee.gateway.http.app import make_app
from privee.gateway.http.server import GatewayServer, GuardedProtocol
from privee.gateway.logs import start_logging
from privee.gateway.parties.tls import TlsFiles
from privee.gateway.service import open_service
from privee.gateway.settings import GatewaySettings

GRACE_SECONDS = 10
BACKLOG = 2048


def serve(settings: GatewaySettings, *, ready_file: Path | None = None, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; requests under way are finished first."""
    service = open_service(settings)
    listening = _listen(settings.host, settings.port)
    address = f"{'https' if settings.secured else 'http'}://{_written(settings.host)}:{listening.getsockname()[1]}"
    start_logging()
    server = GatewayServer(_hardened(_config(settings, make_app(service))))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn stops first, then sends itself the signal again
    if ready_file is not None:
        with whole_file(ready_file, force=True) as partial:
            partial.write_text(json.dumps({"url": address, "pid": os.getpid()}), encoding="utf-8")
    announce(address)
    try:
        server.run(sockets=[listening])
    finally:
        listening.close()
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)


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


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
