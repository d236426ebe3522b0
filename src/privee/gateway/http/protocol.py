"""The Open Inference Protocol's messages, and how a request becomes a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, model_validator

from privee.errors import PriveeError
from privee.gateway.inference import Answer, Query
from privee.party.wire import MAX_ENTITY_BYTES
from privee.scores.forms import Floats

Text = Annotated[str, Field(max_length=128)]
MOST_NAMES = 64


def few(given: Any) -> Any:
    """Not more names than anybody needs: a complaint about each of a hundred thousand would take seconds."""
    if isinstance(given, dict) and len(given) > MOST_NAMES:
        raise ValueError(f"at most {MOST_NAMES} names in one object")
    return given


_EMPTY: dict[str, Any] = {"default": {}}  # said, not copied for every request
Parameters = Annotated[dict[str, str | bool | int | float], BeforeValidator(few)]


class Strict(BaseModel):
    """No numbers from text, no unknown names."""

    model_config = ConfigDict(strict=True, extra="forbid")
    _few = model_validator(mode="before")(few)


class InputTensor(Strict):
    """`entities` (BYTES or INT64), or `columns` (FP32 or FP64): the active party's own columns, one row per entity."""

    name: Literal["entities", "columns"]
    shape: Annotated[list[Annotated[int, Field(ge=0, le=1 << 31)]], Field(min_length=1, max_length=8), FailFast()]
    datatype: Literal["BYTES", "INT64", "FP32", "FP64"]
    data: list[Any]
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
    entities = _entities(tensors["entities"], max_entities)
    columns = _columns(tensors["columns"], len(entities)) if "columns" in tensors else None
    return Query(entities, columns)


def write_release(release: Floats) -> bytes:
    """The outputs of a response as JSON. It may be made before the release is counted, and leaves after."""
    tensor = {"name": "release", "shape": list(release.shape), "datatype": "FP64"}
    flat = np.ascontiguousarray(release, dtype=np.float64).ravel()
    return orjson.dumps([tensor | {"data": flat}], option=orjson.OPT_SERIALIZE_NUMPY)


def write_answer(answer: Answer, request: InferRequest, *, name: str, version: str, defense: str) -> bytes:
    """The response as JSON."""
    parameters: Parameters = {
        "defense": defense,
        "release_id": answer.release_id,
        "remaining": -1 if answer.remaining is None else answer.remaining,
        "charged": answer.charged,
    }
    response: dict[str, Any] = {"model_name": name, "model_version": version, "parameters": parameters}
    if request.id is not None:
        response["id"] = request.id
    written = answer.written or write_release(answer.release)
    return orjson.dumps(response)[:-1] + b',"outputs":' + written + b"}"


def _entities(tensor: InputTensor, most: int) -> list[str]:
    if tensor.datatype not in {"BYTES", "INT64"}:
        raise PriveeError('the tensor "entities" must be BYTES (or INT64)')
    count = tensor.shape[0]
    if tensor.shape not in ([count], [count, 1]):
        raise PriveeError('the tensor "entities" must have shape [n] or [n, 1]')
    if not count:
        raise PriveeError(f'the tensor "entities" is empty: a request asks about 1 to {most} entities')
    if count > most:
        raise PriveeError(f"a request asks about 1 to {most} entities, not {count}")
    found = _flattened(tensor.data)
    if len(found) != count:
        raise PriveeError(f'the tensor "entities" says {count} and holds {len(found)}')
    if tensor.datatype == "BYTES" and _are_entities(found):
        return found
    return [_entity(value, position, tensor.datatype) for position, value in enumerate(found)]


def _are_entities(values: list[Any]) -> bool:
    """Whether all are texts that need no closer look: most are short ones of one byte per character."""
    if {str}.issuperset(map(type, values)) and all(map(str.isascii, values)):
        return min(map(len, values)) > 0 and max(map(len, values)) <= MAX_ENTITY_BYTES
    return False


def _entity(value: Any, position: int, datatype: str) -> str:
    if datatype == "INT64" and type(value) is int and -(1 << 63) <= value < 1 << 63:
        return str(value)
    if datatype != "BYTES" or not isinstance(value, str):
        raise PriveeError(f"the entity at position {position} is not {'text' if datatype == 'BYTES' else 'INT64'}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise PriveeError(f"the entity at position {position} is not Unicode text") from None
    if not 0 < size <= MAX_ENTITY_BYTES:
        raise PriveeError(f"the entity at position {position} is empty, or longer than {MAX_ENTITY_BYTES} bytes")
    return value


def _columns(tensor: InputTensor, count: int) -> NDArray[np.float32]:
    if tensor.datatype not in {"FP32", "FP64"}:
        raise PriveeError('the tensor "columns" must be FP32 or FP64')
    if len(tensor.shape) < 2 or tensor.shape[0] != count:
        raise PriveeError('the tensor "columns" must have one row per entity')
    if not tensor.data:
        raise PriveeError('the tensor "columns" is empty: leave it out, or send one row per entity')
    values = _flattened(tensor.data)
    if not {int, float}.issuperset(map(type, values)):
        raise PriveeError('the tensor "columns" must hold numbers')
    try:
        with np.errstate(over="ignore"):
            found = np.array(values, dtype=np.float64).astype(np.float32)
        shaped = found.reshape(tensor.shape) + np.float32(0)  # -0 and 0 are the same question
    except (ValueError, OverflowError):
        raise PriveeError('the tensor "columns" does not hold as many numbers as its shape says') from None
    if not np.isfinite(shaped).all():
        raise PriveeError('the tensor "columns" must hold finite numbers')
    return shaped


def _flattened(values: list[Any]) -> list[Any]:
    return list(_flat(values)) if list in set(map(type, values)) else values


def _flat(values: list[Any], depth: int = 0) -> Iterator[Any]:
    """The protocol allows nested rows as well as one flat list."""
    for value in values:
        if isinstance(value, list) and depth < 8:
            yield from _flat(value, depth + 1)
        else:
            yield value
