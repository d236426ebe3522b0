"""The application: routes, who may use them, and what happens around every request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from privee.gateway.http import admin_routes, inference_routes, ledger_routes
from privee.gateway.http.access import Access
from privee.gateway.http.middleware import Metrics, Observed
from privee.gateway.http.problems import handle_problems
from privee.gateway.service import Service
from privee.gateway.ui import docs_page, pages
from privee.logs import log
from privee.version import __version__

DESCRIPTION = """Protected predictions of a joint model (Open Inference Protocol).

`POST /v2/models/{model}/infer` with entity ids; the answer is a release, never the scores, and is counted per entity
before it leaves."""


def make_app(service: Service) -> FastAPI:
    """An application on an opened service; it closes the service when it ends."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        log("started", model=service.model.name, defense=service.settings.defense.spec)
        yield
        await service.close()
        log("stopped")

    app = FastAPI(
        title="privee gateway",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    app.state.service, app.state.metrics = service, Metrics()
    app.state.access = Access(service.keys, service.read, unknown=service.settings.unknown)
    handle_problems(app)
    for module in (inference_routes, ledger_routes, admin_routes, pages, docs_page):
        app.include_router(module.router)
    limits = {"max_body": service.settings.max_body, "admit": app.state.access.admit}
    app.add_middleware(Observed, metrics=app.state.metrics, **limits)
    return app
