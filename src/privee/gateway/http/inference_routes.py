"""The Open Inference Protocol under /v2."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from privee.gateway.http.access import Key, allow, allow_model
from privee.gateway.http.problems import DOCUMENTED, DeniedError, QueryRoute
from privee.gateway.http.protocol import (
    InferRequest,
    InferResponse,
    ModelMetadata,
    PriceAnswer,
    ServerMetadata,
    TensorMetadata,
    read_query,
    write_answer,
    write_release,
)
from privee.gateway.service import Service
from privee.party.errors import PartyError
from privee.version import __version__

ModelName = Annotated[str, Path(max_length=128)]
router = APIRouter(prefix="/v2", tags=["inference"], route_class=QueryRoute)


def service_for(request: Request, model: str) -> Service:
    """The one model that is served here."""
    service: Service = request.app.state.service
    if model != service.model.name:
        raise DeniedError(404, "not-found", "no such model here")
    return service


def _some(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: DOCUMENTED[status] for status in statuses}


@router.get("", response_model=ServerMetadata, operation_id="server_metadata")
async def server_metadata(request: Request) -> dict[str, Any]:
    """Who answers here."""
    models = [request.app.state.service.model.name]
    return {"name": "privee", "version": __version__, "extensions": ["price"], "models": models}


@router.get("/health/live", operation_id="live")
async def live() -> dict[str, bool]:
    """The process answers."""
    return {"live": True}


@router.get("/health/ready", operation_id="ready", responses=_some(503))
async def ready(request: Request) -> Response:
    """The ledger can be read and every party answers."""
    health = await request.app.state.service.health()
    return JSONResponse({"ready": health.ready} | ({} if health.ready else health.problem()), health.status)


@router.get(
    "/models/{model}", response_model=ModelMetadata, operation_id="model_metadata", responses=_some(401, 403, 404, 429)
)
async def model_metadata(request: Request, model: ModelName, key: Key) -> dict[str, Any]:
    """What the model takes and gives, and what its release keeps."""
    service = service_for(request, model)
    allow_model(key, model)
    entities = TensorMetadata(name="entities", datatype="BYTES", shape=[-1])
    columns = TensorMetadata(name="columns", datatype="FP32", shape=[-1, -1])
    release = TensorMetadata(name="release", datatype="FP64", shape=[-1, len(service.model.classes)])
    return {
        "name": model,
        "versions": [service.model.version],
        "platform": "privee",
        "inputs": [entities, columns],
        "outputs": [release],
        "parameters": service.about(),
    }


@router.get("/models/{model}/ready", operation_id="model_ready", responses=_some(404, 503))
async def model_ready(request: Request, model: ModelName) -> Response:
    """This model can answer."""
    service_for(request, model)
    return await ready(request)


@router.post(
    "/models/{model}/infer",
    response_model=InferResponse,
    operation_id="infer",
    responses=_some(400, 401, 403, 404, 408, 413, 429, 502, 503, 504),
)
async def infer(request: Request, model: ModelName, body: InferRequest, key: Key) -> Response:
    """Releases for some entities, one each. All are counted before any leaves, or none is and nothing leaves."""
    service = service_for(request, model)
    allow(key, "consumer")
    allow_model(key, model)
    query = read_query(body, max_entities=service.settings.max_entities)
    request.state.log = {"key": key.id, "entities": len(query.entities)}
    metrics = request.app.state.metrics
    metrics.request_entities.observe(len(query.entities))
    try:
        answer = await service.inference.infer(query, key.id, write=write_release)
    except PartyError as error:
        if error.kind == "unknown-entity":
            request.app.state.access.count_unknown(key, len(error.positions))
        raise
    metrics.releases.inc()
    metrics.entities.inc(len(query.entities))
    metrics.charged.inc(answer.charged)
    request.state.log |= {"release_id": answer.release_id, "charged": answer.charged}
    written = write_answer(
        answer, body, name=model, version=service.model.version, defense=service.settings.defense.spec
    )
    return Response(written, media_type="application/json")


@router.post(
    "/models/{model}/price",
    response_model=PriceAnswer,
    operation_id="price",
    responses=_some(400, 401, 403, 404, 408, 413, 429, 503),
)
async def price(request: Request, model: ModelName, body: InferRequest, key: Key) -> dict[str, Any]:
    """What this request would cost and whether it would be answered; costs nothing itself.

    With repeatable draws a query that was answered before costs nothing, which is known only when it is asked; and only
    then it is known whether the active party's columns are another variant.
    """
    service = service_for(request, model)
    allow(key, "consumer", "auditor")
    allow_model(key, model)
    if service.inference.counter is None:
        raise DeniedError(404, "not-found", "answers are not counted here")
    query = read_query(body, max_entities=service.settings.max_entities)
    quote = await service.inference.quote(query.entities, key.id)
    found = {name: getattr(quote, name) for name in ("allowed", "asked", "spent", "remaining", "positions")}
    limits = service.ledger.limits
    variants = {"used": quote.variants, "allowed": limits.variants}
    return found | {"limit": limits.as_dict(), "variants": variants}
