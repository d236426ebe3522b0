"""The Open Inference Protocol's messages, and how a request becomes a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, WrapValidator, model_validator

from privee.errors import PriveeError
from privee.gateway.http.binary import SIZE, write_binary
from privee.gateway.http.tensors import columns_of, entities_of
from privee.gateway.inference import Answer, Query
from privee.scores.forms import Floats

Text = Annotated[str, Field(max_length=128)]
MOST_NAMES = 64
NOT_OFFERED = {"classification", "shared_memory_region"}
"""Parameters of a tensor that would have to change the answer: to leave them out in silence would give another one."""


def few(given: Any) -> Any:
    """Not more names than anybody needs: a complaint about each of a hundred thousand would take seconds."""
    if isinstance(given, dict) and len(given) > MOST_NAMES:
        raise ValueError(f"at most {MOST_NAMES} names in one object")
    return given


_EMPTY: dict[str, Any] = {"default": {}}  # said, not copied for every request
Parameters = Annotated[dict[str, str | bool | int | float], BeforeValidator(few)]


def raw_or(given: Any, usual: Callable[[Any], Any]) -> Any:
    """A tensor's bytes as they are, which no JSON holds; anything else must be a list."""
    return given if isinstance(given, memoryview) else usual(given)


if TYPE_CHECKING:
    Data = list[Any] | memoryview
else:
    Data = Annotated[list[Any], WrapValidator(raw_or)]


class Strict(BaseModel):
    """No numbers from text, no unknown names."""

    model_config = ConfigDict(strict=True, extra="forbid")
    _few = model_validator(mode="before")(few)


class InputTensor(Strict):
    """`entities` (BYTES or INT64), or `columns` (FP32 or FP64): the active party's own columns, one row per entity."""

    name: Literal["entities", "columns"]
    shape: Annotated[list[Annotated[int, Field(ge=0, le=1 << 31)]], Field(min_length=1, max_length=8), FailFast()]
    datatype: Literal["BYTES", "INT64", "FP32", "FP64"]
    data: Data
    parameters: Parameters = Field(default_factory=dict, json_schema_extra=_EMPTY)


class RequestedOutput(Strict):
    """There is one output, `release`."""

    name: Literal["release"]
    parameters: Parameters = Field(default_factory=dict, json_schema_extra=_EMPTY)


class InferRequest(Strict):
    """A query about some entities."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"inputs": [{"name": "entities", "shape": [2], "datatype": "BYTES", "data": ["17", "42"]}]}
        }
    )
    inputs: Annotated[list[InputTensor], Field(min_length=1, max_length=2), FailFast()]
    id: Text | None = None
    parameters: Parameters = Field(default_factory=dict, json_schema_extra=_EMPTY)
    outputs: Annotated[list[RequestedOutput], Field(max_length=1), FailFast()] = Field(
        default_factory=list, json_schema_extra={"default": []}
    )


class OutputTensor(BaseModel):
    """The releases: one row per entity, one column per class."""

    name: str
    shape: list[int]
    datatype: str
    data: list[float]


class InferResponse(BaseModel):
    """Releases; `parameters` holds defense, release_id, remaining (one number; -1: no limit) and charged."""

    model_name: str
    model_version: str
    id: str | None = None
    parameters: Parameters
    outputs: list[OutputTensor]


class TensorMetadata(BaseModel):
    """Name, type and shape of a tensor; -1 stands for any size."""

    name: str
    datatype: str
    shape: list[int]


class ModelMetadata(BaseModel):
    """What the model takes and gives, and what its release keeps."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]
    parameters: Parameters


class ServerMetadata(BaseModel):
    """Who answers here."""

    name: str
    version: str
    extensions: list[str]
    models: list[str]


class Problem(BaseModel):
    """What went wrong, in one line, and a short code for programs."""

    error: str
    code: str


class Refusal(Problem):
    """What was spent, what was asked, what is allowed; positions are indices into the request's entities."""

    refused: dict[str, Any] | None = None


class VariantsAnswer(BaseModel):
    """Of the entity that was asked about in most variants: how many, and how many are allowed; None is any number."""

    used: int
    allowed: int | None


class PriceAnswer(BaseModel):
    """What a query would cost now. Whether it is another variant shows when it is asked."""

    allowed: bool
    asked: dict[str, float]
    spent: dict[str, float]
    limit: dict[str, float]
    remaining: int | None
    positions: list[int]
    variants: VariantsAnswer


def read_query(request: InferRequest, *, max_entities: int) -> Query:
    """Entities and columns of a request; errors name positions, never an id."""
    tensors = {tensor.name: tensor for tensor in request.inputs}
    if len(tensors) < len(request.inputs) or "entities" not in tensors:
        raise PriveeError('inputs must hold one tensor "entities", and at most one "columns"')
    given = [one.parameters for one in request.inputs] + [one.parameters for one in request.outputs]
    if absent := NOT_OFFERED & {name for one in given for name in one}:
        raise PriveeError(f"{min(absent)} is not offered here")
    entities = entities_of(tensors["entities"], max_entities)
    columns = columns_of(tensors["columns"], len(entities)) if "columns" in tensors else None
    return Query(entities, columns)


def wants_binary(request: InferRequest) -> bool:
    """Whether the release is to come as bytes: as its output says, or else the request."""
    given: Any = request.parameters.get("binary_data_output", False)
    for output in request.outputs:
        given = output.parameters.get("binary_data", given)
    if type(given) is not bool:
        raise PriveeError("binary_data and binary_data_output must be true or false")
    return given


def write_release(release: Floats) -> bytes:
    """The outputs of a response as JSON. It may be made before the release is counted, and leaves after."""
    tensor = _output(release)
    flat = np.ascontiguousarray(release, dtype=np.float64).ravel()
    return orjson.dumps([tensor | {"data": flat}], option=orjson.OPT_SERIALIZE_NUMPY)


def write_answer(answer: Answer, request: InferRequest, *, name: str, version: str, defense: str) -> bytes:
    """The response as JSON."""
    written = answer.written or write_release(answer.release)
    return _head(answer, request, name, version, defense)[:-1] + b',"outputs":' + written + b"}"


def write_binary_answer(
    answer: Answer, request: InferRequest, *, name: str, version: str, defense: str
) -> tuple[bytes, int]:
    """The response with the release's bytes behind its head, and how long that is."""
    written = answer.written or write_binary(answer.release)
    outputs = orjson.dumps([_output(answer.release) | {"parameters": {SIZE: len(written)}}])
    head = _head(answer, request, name, version, defense)[:-1] + b',"outputs":' + outputs + b"}"
    return head + written, len(head)


def said_of(answer: Answer, defense: str) -> dict[str, str | int]:
    """The parameters of a response; -1 remaining is no limit."""
    return {
        "defense": defense,
        "release_id": answer.release_id,
        "remaining": -1 if answer.remaining is None else answer.remaining,
        "charged": answer.charged,
    }


def _head(answer: Answer, request: InferRequest, name: str, version: str, defense: str) -> bytes:
    response: dict[str, Any] = {"model_name": name, "model_version": version, "parameters": said_of(answer, defense)}
    if request.id is not None:
        response["id"] = request.id
    return orjson.dumps(response)


def _output(release: Floats) -> dict[str, Any]:
    return {"name": "release", "shape": list(release.shape), "datatype": "FP64"}
