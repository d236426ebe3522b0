"""The Open Inference Protocol under /v2, but for queries: who answers, what is served, whether it works."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse
from starlette.datastructures import State

from privee.gateway.http.access import Key, allow_model
from privee.gateway.http.problems import DeniedError, documented
from privee.gateway.http.protocol import ModelMetadata, ServerMetadata, TensorMetadata
from privee.gateway.service import Service
from privee.version import __version__

ModelName = Annotated[str, Path(max_length=128)]
router = APIRouter(prefix="/v2", tags=["inference"])


EXTENSIONS = ("price", "binary_tensor_data")


def service_for(state: State, model: str, version: str = "") -> Service:
    """The one model that is served here, in its one version; `state` is the application's."""
    service: Service = state.service
    if model != service.model.name:
        raise DeniedError(404, "not-found", "no such model here")
    check_version(service, version)
    return service


def check_version(service: Service, version: str) -> None:
    """Whoever names a version means no other."""
    if version and version != service.model.version:
        raise DeniedError(404, "not-found", "no such version of the model here")


def tensors_of(service: Service) -> tuple[list[TensorMetadata], list[TensorMetadata]]:
    """What the model takes, and what it gives."""
    entities = TensorMetadata(name="entities", datatype="BYTES", shape=[-1])
    columns = TensorMetadata(name="columns", datatype="FP32", shape=[-1, -1])
    release = TensorMetadata(name="release", datatype="FP64", shape=[-1, len(service.model.classes)])
    return [entities, columns], [release]


@router.get("", response_model=ServerMetadata, operation_id="server_metadata")
async def server_metadata(request: Request) -> dict[str, Any]:
    """Who answers here."""
    models = [request.app.state.service.model.name]
    return {"name": "privee", "version": __version__, "extensions": list(EXTENSIONS), "models": models}


@router.get("/health/live", operation_id="live")
async def live() -> dict[str, bool]:
    """The process answers."""
    return {"live": True}


@router.get("/health/ready", operation_id="ready", responses=documented(503))
async def ready(request: Request) -> Response:
    """The ledger can be read and every party answers."""
    health = await request.app.state.service.health()
    return JSONResponse({"ready": health.ready} | ({} if health.ready else health.problem()), health.status)


@router.get("/models/{model}/versions/{version}", response_model=ModelMetadata, include_in_schema=False)
@router.get(
    "/models/{model}",
    response_model=ModelMetadata,
    operation_id="model_metadata",
    responses=documented(401, 403, 404, 429),
)
async def model_metadata(request: Request, model: ModelName, key: Key) -> dict[str, Any]:
    """What the model takes and gives, and what its release keeps."""
    service = service_for(request.app.state, model, request.path_params.get("version", ""))
    allow_model(key, model)
    inputs, outputs = tensors_of(service)
    return {
        "name": model,
        "versions": [service.model.version],
        "platform": "privee",
        "inputs": inputs,
        "outputs": outputs,
        "parameters": service.about(),
    }


@router.get("/models/{model}/versions/{version}/ready", include_in_schema=False)
@router.get("/models/{model}/ready", operation_id="model_ready", responses=documented(404, 503))
async def model_ready(request: Request, model: ModelName) -> Response:
    """This model can answer."""
    service_for(request.app.state, model, request.path_params.get("version", ""))
    return await ready(request)
