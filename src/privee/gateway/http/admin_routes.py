"""For administrators: keys, and resets with a reason. Every act is in the audit chain before it takes effect."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from pydantic import FailFast, Field

from privee.errors import PriveeError
from privee.gateway.http.access import Key, allow
from privee.gateway.http.ledger_routes import EntityId
from privee.gateway.http.problems import DOCUMENTED, BoundedRoute
from privee.gateway.http.protocol import Strict
from privee.gateway.ledger.api_keys import DEFAULT_RATE, KeyRecord, Role, default_quotas
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


class QuotaWishes(Strict):
    """What a key may use up: charges and different entities per time, and the share of any entity's budget.

    "none" is no quota; what is left out stays as it is, or as new keys have it.
    """

    releases: Annotated[str | None, Field(max_length=64)] = None
    entities: Annotated[str | None, Field(max_length=64)] = None
    share: float | Literal["none"] | None = None


class KeyRequest(Strict):
    """Whose key, and what for."""

    name: Short
    role: Role = "consumer"
    scopes: Annotated[list[Short], Field(max_length=100), FailFast()] = Field(default_factory=list)
    rate: Annotated[str, Field(max_length=64)] = DEFAULT_RATE
    expires_days: Annotated[int | None, Field(ge=1, le=36500)] = None
    quotas: QuotaWishes = QuotaWishes()


class NewQuotas(QuotaWishes):
    """Other quotas, and why."""

    reason: Reason


class Why(Strict):
    """A reason, which the audit chain keeps."""

    reason: Reason


class ResetMany(Strict):
    """Which entities start from nothing again: these, or all that a key was charged for since a time; and why."""

    entities: Annotated[list[EntityId], Field(max_length=100_000), FailFast()] = Field(default_factory=list)
    key_id: Annotated[str, Field(max_length=64)] | None = None
    since: Annotated[int, Field(ge=0, lt=1 << 62)] = 0
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
async def create_key(request: Request, body: KeyRequest, key: Key) -> dict[str, Any]:
    """Make a key; its text is shown this once."""
    service: Service = request.app.state.service
    life = None if body.expires_days is None else body.expires_days * DAY
    wanted = (body.name, body.role, body.scopes, body.rate)
    quotas = default_quotas(body.role).changed(**body.quotas.model_dump())
    more: dict[str, Any] = {"actor": _actor(key), "expires_in": life, "quotas": quotas}
    made = await service.read(partial(service.keys.create, *wanted, **more))
    return made.record.as_dict() | {"key": made.text}


@router.post("/keys/{key_id}/quotas", operation_id="set_quotas")
async def set_quotas(
    request: Request, key_id: Annotated[str, Path(max_length=64)], body: NewQuotas, key: Key
) -> dict[str, Any]:
    """Change what a key may use up; what it has used stays counted."""
    service: Service = request.app.state.service
    wishes = body.model_dump(exclude={"reason"})
    changed = partial(service.keys.set_quotas, key_id, body.reason, actor=_actor(key), **wishes)
    return (await service.read(changed)).as_dict()


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


@router.post("/entities/reset-many", operation_id="reset_entities")
async def reset_entities(request: Request, body: ResetMany, key: Key) -> dict[str, Any]:
    """Let many entities be asked about again, all or none, with one reason; `since` is in seconds since 1970.

    What a key was charged for is written down for keys with a quota of entities or a share, from when they had it.
    """
    service: Service = request.app.state.service
    act = {"reason": body.reason, "actor": _actor(key)}
    if bool(body.entities) == (body.key_id is not None):
        raise PriveeError("give either entities or a key_id")
    if body.entities:
        work = partial(service.ledger.reset_many, body.entities, **act)
    else:
        work = partial(service.ledger.reset_charged_by, str(body.key_id), since=body.since, **act)
    return {"entities": await service.read(work)}


def _actor(key: KeyRecord) -> str:
    return f"key:{key.id}"
