"""Queries of the Open Inference Protocol: releases for some entities, and what they would cost."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.datastructures import State

from privee.gateway.http.access import Key, allow, allow_model
from privee.gateway.http.binary import HEAD_LENGTH, write_binary
from privee.gateway.http.inference_routes import ModelName, service_for
from privee.gateway.http.plain_route import PlainRoute
from privee.gateway.http.problems import DeniedError, documented
from privee.gateway.http.protocol import (
    InferRequest,
    InferResponse,
    PriceAnswer,
    VariantsAnswer,
    read_query,
    wants_binary,
    write_answer,
    write_binary_answer,
    write_release,
)
from privee.gateway.inference import Answer, Write
from privee.gateway.ledger.api_keys import KeyRecord
from privee.gateway.service import Service
from privee.party.errors import PartyError

router = APIRouter(prefix="/v2", tags=["inference"], route_class=PlainRoute)
_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
IN_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"description": "Releases; as bytes behind the JSON if `binary_data_output` asks for it.", "content": _BYTES}
}


@router.post("/models/{model}/versions/{version}/infer", include_in_schema=False)
@router.post(
    "/models/{model}/infer",
    response_model=InferResponse,
    operation_id="infer",
    responses=IN_BYTES | documented(400, 401, 403, 404, 408, 413, 429, 502, 503, 504),
)
async def infer(request: Request, model: ModelName, body: InferRequest, key: Key) -> Response:
    """Releases for some entities, one each. All are counted before any leaves, or none is and nothing leaves."""
    state, binary = request.app.state, wants_binary(body)
    note: dict[str, Any] = {}
    request.state.log = note
    answer = await releases(state, model, body, key, note=note, write=write_binary if binary else write_release)
    service: Service = state.service
    said = {"name": model, "version": service.model.version, "defense": service.spec}
    if not binary:
        return Response(write_answer(answer, body, **said), media_type="application/json")
    written, head = write_binary_answer(answer, body, **said)
    return Response(written, media_type="application/octet-stream", headers={HEAD_LENGTH: str(head)})


async def releases(
    state: State, model: str, body: InferRequest, key: KeyRecord, *, note: dict[str, Any], write: Write
) -> Answer:
    """Answer a query, whichever way it came.

    Args:
        state: the application's.
        model: who is asked.
        body: what is asked.
        key: who asks.
        note: for the log; numbers and names alone.
        write: turns the release into bytes.
    """
    note |= {"key": key.id}
    service = service_for(state, model)
    allow(key, "consumer")
    allow_model(key, model)
    query = read_query(body, max_entities=service.settings.max_entities)
    note |= {"entities": len(query.entities)}
    metrics = state.metrics
    metrics.request_entities.observe(len(query.entities))
    try:
        answer = await service.inference.infer(query, key.id, write=write)
    except PartyError as error:
        if error.kind == "unknown-entity":
            state.access.count_unknown(key, len(error.positions))
        raise
    metrics.releases.inc()
    metrics.entities.inc(len(query.entities))
    metrics.charged.inc(answer.charged)
    note |= {"release_id": answer.release_id, "charged": answer.charged}
    return answer


@router.post("/models/{model}/versions/{version}/price", include_in_schema=False)
@router.post(
    "/models/{model}/price",
    response_model=PriceAnswer,
    operation_id="price",
    responses=documented(400, 401, 403, 404, 408, 413, 429, 503),
)
async def price(request: Request, model: ModelName, body: InferRequest, key: Key) -> Response:
    """What this request would cost and whether it would be answered; costs nothing itself.

    With repeatable draws a query that was answered before costs nothing, which is known only when it is asked; and only
    then it is known whether the active party's columns are another variant.
    """
    service = service_for(request.app.state, model)
    allow(key, "consumer", "auditor")
    allow_model(key, model)
    if service.inference.counter is None:
        raise DeniedError(404, "not-found", "answers are not counted here")
    query = read_query(body, max_entities=service.settings.max_entities)
    quote = await service.inference.quote(query.entities, key.id)
    found = {name: getattr(quote, name) for name in ("allowed", "asked", "spent", "remaining", "positions")}
    limits = service.ledger.limits
    variants = VariantsAnswer(used=quote.variants, allowed=limits.variants)
    answer = PriceAnswer(**found, limit=limits.as_dict(), variants=variants)
    return Response(answer.model_dump_json(), media_type="application/json")
