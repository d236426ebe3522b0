"""The protocol's binary tensors: numbers and ids as bytes behind a JSON head, instead of as text in it.

A request says in the header `Inference-Header-Content-Length` how long its head is; a tensor's parameter
`binary_data_size` says how many of the bytes behind it are its own. Every length is checked before it is believed.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.scores.forms import Floats

HEAD_LENGTH = "inference-header-content-length"
SIZE = "binary_data_size"
DTYPES: dict[str, np.dtype[Any]] = {"INT64": np.dtype("<i8"), "FP32": np.dtype("<f4"), "FP64": np.dtype("<f8")}
_DIGITS = 10
MANY = 16
"""From so many ids on it is quicker to look for all lengths at once."""
_length_at = struct.Struct("<I").unpack_from


def split(given: str | None, content: bytes) -> tuple[bytes, memoryview]:
    """A body's JSON head, and what comes behind it; without the header it is all head."""
    if given is None:
        return content, memoryview(b"")
    if not (given.isascii() and given.isdigit() and len(given) <= _DIGITS):
        raise PriveeError("Inference-Header-Content-Length must be a whole number of bytes")
    length = int(given)
    if length > len(content):
        raise PriveeError(f"Inference-Header-Content-Length says {length}, and the request has {len(content)} bytes")
    return content[:length], memoryview(content)[length:]


def attach(given: Any, behind: memoryview) -> Any:
    """Give each tensor of a parsed head the bytes that are its own, as its `data`; all of them must be somebody's."""
    place = 0
    for tensor in _tensors(given):
        if (size := _size(tensor)) is None:
            continue
        if "data" in tensor:
            raise PriveeError(f"a tensor has data or {SIZE}, not both")
        if size > len(behind) - place:
            raise PriveeError(f"{SIZE} says {size} bytes, and {len(behind) - place} are left of the request")
        tensor["data"] = behind[place : place + size]
        place += size
    if place < len(behind):
        raise PriveeError(f"{len(behind) - place} bytes behind the head belong to no tensor")
    return given


def read_texts(raw: memoryview, count: int) -> list[str]:
    """So many ids, each behind its length in four bytes; errors name positions, never an id."""
    data = bytes(raw)
    plain = data.isascii()  # lengths below 128 are, and so are most ids: then one text holds them all
    whole = data.decode("ascii") if plain else ""
    if plain and count >= MANY and (short := _short_texts(data, whole, count)) is not None:
        return short
    found, place, end = [], 0, len(data)
    for position in range(count):
        if place + 4 > end or (size := _length_at(data, place)[0]) > end - place - 4:
            raise PriveeError(f'the tensor "entities" says {count} and its bytes end within position {position}')
        place += 4 + size
        found.append(whole[place - size : place] if plain else _text(data[place - size : place], position))
    if place < end:
        raise PriveeError(f'the tensor "entities" says {count} and has {end - place} bytes too many')
    return found


def _short_texts(data: bytes, whole: str, count: int) -> list[str] | None:
    """The same in few steps, of ids without NUL in them; None if it is not so, or if anything is wrong.

    Three of the four bytes of a short length are 0, and no others are. Where each length is seen to be its id's, all
    lengths become one NUL, and ids are what lies between.
    """
    zeros = np.flatnonzero(np.frombuffer(data, np.uint8) == 0)
    if len(zeros) != 3 * count or zeros[0] != 1:
        return None
    first = zeros[::3]
    lengths = np.frombuffer(data, np.uint8)[first - 1]
    sizes = np.diff(first, append=len(data) + 1) - 4
    if (zeros[2::3] != first + 2).any() or (sizes != lengths).any():
        return None
    for length in np.unique(lengths).tolist():
        whole = whole.replace(f"{chr(length)}\0\0\0", "\0")
    return whole.split("\0")[1:]


def read_numbers(raw: memoryview, datatype: str, shape: list[int], name: str) -> NDArray[Any]:
    """As many as the shape says."""
    dtype = DTYPES[datatype]
    wanted = math.prod(shape) * dtype.itemsize
    if len(raw) != wanted:
        raise PriveeError(f'the tensor "{name}" has {len(raw)} bytes; its shape and datatype make {wanted}')
    return np.frombuffer(raw, dtype).reshape(shape)


def write_binary(release: Floats) -> bytes:
    """A release's own bits, row by row."""
    return np.ascontiguousarray(release, dtype="<f8").tobytes()


def _text(data: bytes, position: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise PriveeError(f"the entity at position {position} is not Unicode text") from None


def _tensors(given: Any) -> list[dict[str, Any]]:
    inputs = given.get("inputs") if isinstance(given, dict) else None
    found = inputs if isinstance(inputs, list) else []
    return [tensor for tensor in found if isinstance(tensor, dict)]


def _size(tensor: dict[str, Any]) -> int | None:
    """How many bytes are a tensor's own, if any; what is otherwise wrong with it is told later."""
    parameters = tensor.get("parameters")
    if not isinstance(parameters, dict) or SIZE not in parameters:
        return None
    size = parameters[SIZE]
    if type(size) is not int or size < 0:
        raise PriveeError(f"{SIZE} must be a whole number of bytes")
    return size
