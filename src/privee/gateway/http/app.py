"""The application: routes, and what happens around every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from privee import traces
from privee.gateway.http import admin_routes, inference_routes, ledger_routes, query_routes
from privee.gateway.http.access import Access
from privee.gateway.http.middleware import Metrics, Observed
from privee.gateway.http.plain_route import Shortcut, plain_routes
from privee.gateway.http.problems import handle_problems
from privee.gateway.http.shared_metrics import SharedMetrics
from privee.gateway.http.traced import Traced
from privee.gateway.service import Service
from privee.gateway.ui import audit_page, consumers, docs_page, exports, pages
from privee.logs import log
from privee.version import __version__

GRACE_SECONDS = 10
"""For what is under way when the gateway stops."""


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
