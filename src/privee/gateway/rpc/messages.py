"""The messages of the Open Inference Protocol's service `inference.GRPCInferenceService`, as protobuf classes.

They are made from the table below, so nothing is generated and any version of protobuf will do; and in a pool of their
own, because a process may hold the same names from somebody else's generated files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

PACKAGE = "inference"
SERVICE = f"{PACKAGE}.GRPCInferenceService"

# A message's fields: number, what it holds, name. `map` is from text to an InferParameter.
MESSAGES: Mapping[str, str] = {
    "ServerLiveRequest": "",
    "ServerLiveResponse": "1 bool live",
    "ServerReadyRequest": "",
    "ServerReadyResponse": "1 bool ready",
    "ModelReadyRequest": "1 string name, 2 string version",
    "ModelReadyResponse": "1 bool ready",
    "ServerMetadataRequest": "",
    "ServerMetadataResponse": "1 string name, 2 string version, 3 repeated string extensions",
    "ModelMetadataRequest": "1 string name, 2 string version",
    "ModelMetadataResponse": "1 string name, 2 repeated string versions, 3 string platform, "
    "4 repeated ModelMetadataResponse.TensorMetadata inputs, 5 repeated ModelMetadataResponse.TensorMetadata outputs",
    "ModelMetadataResponse.TensorMetadata": "1 string name, 2 string datatype, 3 repeated int64 shape",
    "InferParameter": "1 oneof bool bool_param, 2 oneof int64 int64_param, 3 oneof string string_param, "
    "4 oneof double double_param, 5 oneof uint64 uint64_param",
    "InferTensorContents": "1 repeated bool bool_contents, 2 repeated int32 int_contents, "
    "3 repeated int64 int64_contents, 4 repeated uint32 uint_contents, 5 repeated uint64 uint64_contents, "
    "6 repeated float fp32_contents, 7 repeated double fp64_contents, 8 repeated bytes bytes_contents",
    "ModelInferRequest": "1 string model_name, 2 string model_version, 3 string id, 4 map parameters, "
    "5 repeated ModelInferRequest.InferInputTensor inputs, "
    "6 repeated ModelInferRequest.InferRequestedOutputTensor outputs, 7 repeated bytes raw_input_contents",
    "ModelInferRequest.InferInputTensor": "1 string name, 2 string datatype, 3 repeated int64 shape, "
    "4 map parameters, 5 InferTensorContents contents",
    "ModelInferRequest.InferRequestedOutputTensor": "1 string name, 2 map parameters",
    "ModelInferResponse": "1 string model_name, 2 string model_version, 3 string id, 4 map parameters, "
    "5 repeated ModelInferResponse.InferOutputTensor outputs, 6 repeated bytes raw_output_contents",
    "ModelInferResponse.InferOutputTensor": "1 string name, 2 string datatype, 3 repeated int64 shape, "
    "4 map parameters, 5 InferTensorContents contents",
}
ONEOF = "parameter_choice"

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {name: _Field.Type.Value(f"TYPE_{name.upper()}") for name in ("bool", "string", "bytes", "float", "double")}
_SCALARS |= {name: _Field.Type.Value(f"TYPE_{name.upper()}") for name in ("int32", "int64", "uint32", "uint64")}


class MessageClass(Protocol):
    """What is used of a class of messages."""

    def __call__(self, **values: Any) -> Message:
        """Make one."""

    def FromString(self, data: bytes) -> Message:  # noqa: N802 (protobuf's name)
        """Read one; raises DecodeError."""


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="open_inference.proto", package=PACKAGE, syntax="proto3")
    made: dict[str, Any] = {}
    for path, fields in MESSAGES.items():
        outer, _, name = path.rpartition(".")
        made[path] = (made[outer].nested_type if outer else file.message_type).add(name=name)
        for field in filter(None, fields.split(", ")):
            _add(made[path], path, *field.split(" "))
    return file


def _add(message: Any, path: str, number: str, *words: str) -> None:
    """One field of the table."""
    *kinds, name = words
    field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
    if kinds[0] == "map":
        entry = message.nested_type.add(name=f"{name.title()}Entry")
        entry.options.map_entry = True
        _add(entry, "", "1", "string", "key")
        _add(entry, "", "2", "InferParameter", "value")
        kinds = ["repeated", f"{path}.{entry.name}"]
    if kinds[0] == "repeated":
        field.label = _Field.LABEL_REPEATED
    if kinds[0] == "oneof":
        if not message.oneof_decl:
            message.oneof_decl.add(name=ONEOF)
        field.oneof_index = 0
    if kinds[-1] in _SCALARS:
        field.type = _SCALARS[kinds[-1]]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{PACKAGE}.{kinds[-1]}"


def _classes() -> dict[str, MessageClass]:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_file().SerializeToString())
    found = {name: pool.FindMessageTypeByName(f"{PACKAGE}.{name}") for name in MESSAGES}
    return {name: cast("MessageClass", message_factory.GetMessageClass(one)) for name, one in found.items()}


CLASSES = _classes()
