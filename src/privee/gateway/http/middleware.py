"""Around every request: an id, a size limit, time limits on slow senders, metrics and one line of log.

Metrics are Prometheus', in base units; labels are routes, outcomes and party names: nothing about entities.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privee.gateway.http.access import PAGES
from privee.gateway.http.problems import DeniedError, problem
from privee.gateway.service import Health
from privee.logs import log

CLIENT_GONE = 499
"""Not sent to anybody: it is for the log and the metrics."""
ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
BODY_SECONDS = 30.0
PAGE_BODY = 16 << 10
"""Most bytes of what the pages send: anybody may, before it is known who it is."""
LINGER_SECONDS, LINGER_BYTES = 2.0, 64 << 20
"""How much of a refused body is read and dropped, so that its sender gets to read the answer."""
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


class GoneError(Exception):
    """The sender went away in the middle of its request."""


Admit = Callable[[Scope], Awaitable[DeniedError | None]]


class Observed:
    """ASGI middleware; plain, because it sits on the path of every request."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, max_body: int, admit: Admit) -> None:
        self.app, self.metrics, self.max_body, self.admit = app, metrics, max_body, admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if ID.match(given) else secrets.token_hex(8)
        scope.setdefault("state", {}).update(request_id=request_id, headers=headers)
        status = 500
        began = False

        async def sending(message: Message) -> None:
            nonlocal status, began
            if message["type"] == "http.response.start":
                status, began = message["status"], True
                message["headers"] = [*message["headers"], *HEADERS, (b"x-request-id", request_id.encode())]
            await send(message)

        self.metrics.in_flight.inc()
        try:
            scope["state"]["body"] = body = await self._body(scope, receive)
            await self.app(scope, _replay(body, receive), sending)
        except GoneError:
            status = CLIENT_GONE
        except DeniedError as denied:
            if denied.code == "rate":
                self.metrics.refusals.labels("rate").inc()
            await _hang_up(denied, receive, sending)
        except Exception as error:
            log("failed", level=logging.ERROR, error=error, request_id=request_id)
            if began:
                raise
            await problem(500, "internal", "something went wrong here; nothing was released")(scope, receive, sending)
        finally:
            self.metrics.in_flight.dec()
        self._note(scope, status, time.perf_counter() - started, request_id)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Read the body first, if whoever sends it may: it must be small and come soon."""
        if (denied := await self.admit(scope)) is not None:
            raise denied
        most = PAGE_BODY if scope["path"].startswith(PAGES) else self.max_body
        too_large = DeniedError(413, "too-large", f"a request may have {most} bytes")
        declared = scope["state"]["headers"].get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > most:
            raise too_large
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await _collected(receive, most, too_large)
        except TimeoutError:
            raise DeniedError(408, "too-slow", "the request's body did not arrive in time") from None

    def _note(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = getattr(scope.get("route"), "path", "unknown")  # the template, so no id from an address is kept
        self.metrics.note(route, status, seconds)
        fields: dict[str, Any] = dict(scope["state"].get("log", {}))
        log(
            "request",
            level=logging.WARNING if status >= 500 else logging.INFO,
            request_id=request_id,
            method=scope["method"] if scope["method"].isalpha() else "other",
            route=route,
            status=status,
            seconds=round(seconds, 6),
            **fields,
        )


async def _collected(receive: Receive, most: int, too_large: DeniedError) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise too_large
        if not message.get("more_body", False):
            return b"".join(parts)


async def _hang_up(denied: DeniedError, receive: Receive, send: Send) -> None:
    """Answer a request whose body is not read, drop what still comes for a moment, and close the connection."""
    answer = problem(denied.status, denied.code, denied.words)
    answer.headers.update(denied.headers)
    headers = [*answer.raw_headers, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": denied.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    size, more = 0, True
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while more and size < LINGER_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                more = message.get("more_body", False)
    await send({"type": "http.response.body", "body": b""})


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ENTITIES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)


class Metrics:
    """All that is measured, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.requests = counter("privee_http_requests", "HTTP requests.", ["route", "status"])
        self.request_seconds = histogram(
            "privee_http_request_duration_seconds", "Time to answer.", ["route"], buckets=SECONDS
        )
        self.in_flight = gauge("privee_http_requests_in_flight", "Requests being answered.")
        self.calls = counter("privee_grpc_requests", "gRPC calls.", ["method", "code"])
        self.call_seconds = histogram(
            "privee_grpc_request_duration_seconds", "Time to answer a gRPC call.", ["method"], buckets=SECONDS
        )
        self.releases = counter("privee_releases", "Requests answered with releases.")
        self.entities = counter("privee_released_entities", "Releases: one for each entity of an answered request.")
        self.charged = counter("privee_charged_entities", "Releases that were charged.")
        self.request_entities = histogram(
            "privee_request_entities", "Entities asked about in one request.", buckets=ENTITIES
        )
        self.refusals = counter("privee_refusals", "Requests refused.", ["reason"])
        self.party_errors = counter("privee_party_errors", "Failed calls to a party.", ["party", "kind"])
        self.party_up = gauge("privee_party_up", "1 if the party answers.", ["party"])
        self.party_seconds = gauge("privee_party_health_duration_seconds", "Time of its last check.", ["party"])
        self.ledger_up = gauge("privee_ledger_up", "1 if the ledger can be read.")

        self._noted: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def note(self, route: str, status: int, seconds: float) -> None:
        """A request on this route has ended so."""
        if (found := self._noted.get((route, status))) is None:
            found = self.requests.labels(route, str(status)), self.request_seconds.labels(route)
            self._noted[route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def note_call(self, method: str, code: str, seconds: float) -> None:
        """A gRPC call has ended so."""
        self.calls.labels(method, code).inc()
        self.call_seconds.labels(method).observe(seconds)

    def text(self, health: Health) -> bytes:
        """All of it as Prometheus reads it."""
        self.set_health(health)
        return generate_latest(self.registry)

    def set_health(self, health: Health) -> None:
        """How ledger and parties are now."""
        self.ledger_up.set(health.ledger)
        for name, party in health.parties.items():
            self.party_up.labels(name).set(party.reachable)
            self.party_seconds.labels(name).set(party.seconds)
