"""Messages as plain values: a request in the form that HTTP's have, and an answer's release as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import DecodeError

from privee.errors import PriveeError
from privee.gateway.http.plain_route import validated
from privee.gateway.http.protocol import InferRequest, said_of
from privee.gateway.inference import Answer
from privee.gateway.rpc.bounds import NOT_A_MESSAGE, check_fields
from privee.gateway.rpc.messages import CLASSES, ONEOF

CONTENTS = {"BYTES": "bytes_contents", "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents"}


def read(name: str, data: bytes) -> Any:
    """The message of this name that these bytes are."""
    try:
        return CLASSES[name].FromString(data)
    except DecodeError:
        raise PriveeError(NOT_A_MESSAGE) from None


def read_infer(data: bytes, most_values: int) -> tuple[Any, InferRequest]:
    """A ModelInferRequest, as it came and as HTTP would have it; errors as HTTP's."""
    check_fields(data, most_values)
    message = read("ModelInferRequest", data)
    raw = message.raw_input_contents
    if raw and len(raw) != len(message.inputs):
        raise PriveeError(f"raw_input_contents has {len(raw)} tensors, and inputs {len(message.inputs)}")
    if raw and any(tensor.HasField("contents") for tensor in message.inputs):
        raise PriveeError("a request has raw_input_contents or contents, not both")
    given = {
        "inputs": [_input(one, memoryview(raw[place]) if raw else None) for place, one in enumerate(message.inputs)],
        "outputs": [{"name": one.name, "parameters": _parameters(one)} for one in message.outputs],
        "parameters": _parameters(message),
    }
    return message, validated(given | ({"id": message.id} if message.id else {}))


def _input(tensor: Any, raw: memoryview | None) -> dict[str, Any]:
    data = _contents(tensor) if raw is None else raw
    given = {"name": tensor.name, "datatype": tensor.datatype, "shape": list(tensor.shape)}
    return given | {"data": data, "parameters": _parameters(tensor)}


def _contents(tensor: Any) -> list[Any]:
    """The values that belong to its datatype; of others, none."""
    found = list(getattr(tensor.contents, CONTENTS.get(tensor.datatype, "bytes_contents")))
    others = (field.name for field, _ in tensor.contents.ListFields())
    if any(name != CONTENTS.get(tensor.datatype) for name in others):
        raise PriveeError("a tensor's contents are not of its datatype")
    if tensor.datatype != "BYTES":
        return found
    try:
        return [one.decode() for one in found]
    except UnicodeDecodeError:
        place = next(place for place, one in enumerate(found) if not _is_text(one))
        raise PriveeError(f"the entity at position {place} is not Unicode text") from None


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parameters(message: Any) -> dict[str, Any]:
    given = {name: (value, value.WhichOneof(ONEOF)) for name, value in message.parameters.items()}
    return {name: getattr(value, which) for name, (value, which) in given.items() if which}


def infer_response(answer: Answer, asked: Any, *, name: str, version: str, defense: str) -> bytes:
    """The answer to a ModelInferRequest: the release in bytes, and what is said of it."""
    parameter, tensor = CLASSES["InferParameter"], CLASSES["ModelInferResponse.InferOutputTensor"]
    said = said_of(answer, defense)
    return CLASSES["ModelInferResponse"](
        model_name=name,
        model_version=version,
        id=asked.id,
        parameters={key: parameter(**_choice(value)) for key, value in said.items()},
        outputs=[tensor(name="release", datatype="FP64", shape=answer.release.shape)],
        raw_output_contents=[answer.written],
    ).SerializeToString()


def _choice(value: str | int) -> Mapping[str, Any]:
    return {"string_param" if isinstance(value, str) else "int64_param": value}
