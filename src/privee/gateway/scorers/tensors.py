"""Tensors of the Open Inference Protocol, as another server is sent them and answers with them.

Numbers go as bytes behind the JSON head where the server takes that, because not every server reads all digits of a
number in JSON (Triton 2.51 does not) and none reads a gap. What it answers may come either way.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.gateway.scorers.metadata import DTYPES, FLOATS, TEXTS, About

HEAD_LENGTH = "inference-header-content-length"
SIZE = "binary_data_size"
EXTENSION = "binary_tensor_data"


def packed(
    tensors: list[tuple[About, NDArray[Any]]], wanted: str | None, *, binary: bool
) -> tuple[bytes, dict[str, str]]:
    """The body that asks for scores, and its headers."""
    made = [_tensor(about, values, binary) for about, values in tensors]
    asked: dict[str, Any] = {"inputs": [head for head, _ in made]}
    if wanted is not None:
        asked["outputs"] = [{"name": wanted} | ({"parameters": {"binary_data": True}} if binary else {})]
    elif binary:
        asked["parameters"] = {"binary_data_output": True}
    try:
        head = json.dumps(asked, allow_nan=False).encode()
    except ValueError:
        raise PriveeError("a row has a gap, and the other server takes JSON alone, which has none") from None
    if not binary:
        return head, {"content-type": "application/json"}
    headers = {"content-type": "application/octet-stream", HEAD_LENGTH: str(len(head))}
    return head + b"".join(raw for _, raw in made), headers


def unpacked(content: bytes, head_length: str | None) -> dict[str, Any]:
    """An answer; each output that came as bytes has them as its `data`. ValueError if it is none."""
    length = len(content) if head_length is None else int(head_length)
    found = json.loads(content[:length])
    if not isinstance(found, dict):
        return {}
    place = length
    for one in [] if head_length is None else found["outputs"]:
        size = one.get("parameters", {}).get(SIZE)
        if size is not None:
            one["data"] = content[place : place + int(size)]
            place += int(size)
    return found


def numbers_in(output: dict[str, Any]) -> NDArray[np.float64]:
    """The numbers of an output, in its shape."""
    data = output["data"]
    if isinstance(data, bytes):
        data = np.frombuffer(data, DTYPES[output["datatype"]])
    return np.array(data, dtype=np.float64).reshape(output["shape"])


def _tensor(about: About, values: NDArray[Any], binary: bool) -> tuple[dict[str, Any], bytes]:
    head = {"name": about.name, "shape": list(values.shape), "datatype": about.datatype}
    if about.datatype == TEXTS:  # as JSON, which has an empty cell
        return head | {"data": values.astype(object).ravel().tolist()}, b""
    numbers = _cast(values, about.datatype)
    if not binary:
        return head | {"data": numbers.ravel().tolist()}, b""
    raw = numbers.tobytes()
    return head | {"parameters": {SIZE: len(raw)}}, raw


def _cast(values: NDArray[Any], datatype: str) -> NDArray[Any]:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise PriveeError("the rows hold text where the other server takes numbers") from None
    if datatype not in FLOATS and not (np.isfinite(numbers).all() and (numbers == np.trunc(numbers)).all()):
        raise PriveeError("the rows hold a gap or a fraction where the other server takes whole numbers")
    with np.errstate(over="ignore"):
        return numbers.astype(DTYPES[datatype])
