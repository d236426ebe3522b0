"""For administrators: keys, and resets with a reason. Every act is in the audit chain before it takes effect."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from pydantic import FailFast, Field

from privee.gateway.http.access import Key, allow
from privee.gateway.http.bodies import BoundedRoute
from privee.gateway.http.ledger_routes import EntityId
from privee.gateway.http.problems import DOCUMENTED
from privee.gateway.http.protocol import Strict
from privee.gateway.ledger.api_keys import DEFAULT_RATE, KeyRecord, Role
from privee.gateway.service import Service

RESPONSES: dict[int | str, dict[str, Any]] = {
    status: DOCUMENTED[status] for status in (400, 401, 403, 404, 408, 413, 429, 503)
}
Reason = Annotated[str, Field(min_length=3, max_length=500)]
DAY = 86_400
Short = Annotated[str, Field(min_length=1, max_length=128)]


async def _administrator(key: Key) -> None:
    allow(key, "administrator")


router = APIRouter(
    prefix="/admin",
    tags=["administration"],
    dependencies=[Depends(_administrator)],
    responses=RESPONSES,
    route_class=BoundedRoute,
)


class NewKey(Strict):
    """Whose key, and what for."""

    name: Short
    role: Role = "consumer"
    scopes: Annotated[list[Short], Field(max_length=100), FailFast()] = Field(default_factory=list)
    rate: Annotated[str, Field(max_length=64)] = DEFAULT_RATE
    expires_days: Annotated[int | None, Field(ge=1, le=36500)] = None


class Why(Strict):
    """Why."""

    reason: Reason


class Reset(Strict):
    """Which entity starts from nothing again, and why; its lifetime count is kept."""

    entity: EntityId
    reason: Reason


@router.get("/keys", operation_id="list_keys")
async def list_keys(request: Request) -> list[dict[str, Any]]:
    """All keys, without their secrets."""
    service: Service = request.app.state.service
    return [record.as_dict() for record in await service.read(service.keys.list)]


@router.post("/keys", operation_id="create_key")
async def create_key(request: Request, body: NewKey, key: Key) -> dict[str, Any]:
    """Make a key; its text is shown this once."""
    service: Service = request.app.state.service
    life = None if body.expires_days is None else body.expires_days * DAY
    wanted = (body.name, body.role, body.scopes, body.rate)
    made = await service.read(partial(service.keys.create, *wanted, actor=_actor(key), expires_in=life))
    return made.record.as_dict() | {"key": made.text}


@router.post("/keys/{key_id}/revoke", operation_id="revoke_key")
async def revoke_key(
    request: Request, key_id: Annotated[str, Path(max_length=64)], body: Why, key: Key
) -> dict[str, Any]:
    """Revoke a key, for good."""
    service: Service = request.app.state.service
    revoked = await service.read(partial(service.keys.revoke, key_id, body.reason, actor=_actor(key)))
    return revoked.as_dict()


@router.post("/entities/reset", operation_id="reset_entity")
async def reset_entity(request: Request, body: Reset, key: Key) -> dict[str, Any]:
    """Let an entity be asked about again. What it gave away is not taken back: a reset is a decision, with a reason."""
    service: Service = request.app.state.service
    await service.read(partial(service.ledger.reset, body.entity, reason=body.reason, actor=_actor(key)))
    return await service.read(service.spending, body.entity)


def _actor(key: KeyRecord) -> str:
    return f"key:{key.id}"
