"""For auditors: what an entity has given away, totals, the audit chain, metrics."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import Field

from privee.gateway.http.access import Key, allow
from privee.gateway.http.problems import DOCUMENTED, BoundedRoute
from privee.gateway.http.protocol import Strict
from privee.gateway.service import Service
from privee.party.wire import MAX_ENTITY_BYTES

RESPONSES: dict[int | str, dict[str, Any]] = {
    status: DOCUMENTED[status] for status in (400, 401, 403, 408, 413, 429, 503)
}
EntityId = Annotated[str, Field(min_length=1, max_length=MAX_ENTITY_BYTES)]


async def _auditor(key: Key) -> None:
    allow(key, "auditor", "administrator")


router = APIRouter(tags=["audit"], dependencies=[Depends(_auditor)], responses=RESPONSES, route_class=BoundedRoute)


class Entity(Strict):
    """In the body, so that the id does not land in anybody's access log."""

    entity: EntityId


@router.get("/metrics", operation_id="metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Prometheus metrics."""
    health = await request.app.state.service.health()
    return Response(request.app.state.all_metrics.text(health), media_type=CONTENT_TYPE_LATEST)


@router.post("/ledger/spent", operation_id="spent")
async def spent(request: Request, body: Entity) -> dict[str, Any]:
    """What one entity has given away."""
    service: Service = request.app.state.service
    return await service.read(service.spending, body.entity)


@router.get("/ledger/totals", operation_id="totals")
async def totals(request: Request) -> dict[str, Any]:
    """What was asked so far, and what each entity is allowed.

    `releases` are requests that were answered and `refusals` those that were refused. `released_entities` are the
    releases in them, one for each entity of each request, and `charged` those of them that were charged.
    """
    service: Service = request.app.state.service
    return await service.read(service.totals)


@router.get("/ledger/chain", operation_id="chain")
async def chain(request: Request) -> dict[str, Any]:
    """Whether the log of administrative acts is unbroken; keep entries and head elsewhere to compare later."""
    service: Service = request.app.state.service
    return await service.read(service.chain)


@router.get("/ledger/log", operation_id="log")
async def log(request: Request, last: Annotated[int, Query(ge=1, le=1000)] = 50) -> list[dict[str, Any]]:
    """The latest administrative acts."""
    service: Service = request.app.state.service
    return await service.read(service.acts, last)
