"""What a request's tensors hold, as text or as bytes: entities and columns. Errors name positions, never an id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.gateway.http.binary import read_numbers, read_texts
from privee.party.wire import MAX_ENTITY_BYTES, are_plain

if TYPE_CHECKING:
    from privee.gateway.http.protocol import InputTensor


def entities_of(tensor: InputTensor, most: int) -> list[str]:
    """The ids in the tensor "entities", `most` at most."""
    if tensor.datatype not in {"BYTES", "INT64"}:
        raise PriveeError('the tensor "entities" must be BYTES (or INT64)')
    count = tensor.shape[0]
    if tensor.shape not in ([count], [count, 1]):
        raise PriveeError('the tensor "entities" must have shape [n] or [n, 1]')
    if not count:
        raise PriveeError(f'the tensor "entities" is empty: a request asks about 1 to {most} entities')
    if count > most:
        raise PriveeError(f"a request asks about 1 to {most} entities, not {count}")
    found = _given_entities(tensor, count)
    if len(found) != count:
        raise PriveeError(f'the tensor "entities" says {count} and holds {len(found)}')
    if tensor.datatype == "BYTES" and are_plain(found):
        return found
    if isinstance(tensor.data, memoryview) and tensor.datatype == "INT64":
        return list(map(str, found))
    return [_entity(value, position, tensor.datatype) for position, value in enumerate(found)]


def _given_entities(tensor: InputTensor, count: int) -> list[Any]:
    if not isinstance(tensor.data, memoryview):
        return _flattened(tensor.data)
    if tensor.datatype == "BYTES":
        return read_texts(tensor.data, count)
    return read_numbers(tensor.data, tensor.datatype, [count], tensor.name).tolist()


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


def columns_of(tensor: InputTensor, count: int) -> NDArray[np.float32]:
    """The numbers in the tensor "columns", a row for each of so many entities."""
    if tensor.datatype not in {"FP32", "FP64"}:
        raise PriveeError('the tensor "columns" must be FP32 or FP64')
    if len(tensor.shape) < 2 or tensor.shape[0] != count:
        raise PriveeError('the tensor "columns" must have one row per entity')
    if not tensor.data:
        raise PriveeError('the tensor "columns" is empty: leave it out, or send one row per entity')
    with np.errstate(over="ignore", invalid="ignore"):
        shaped = _given_columns(tensor).astype(np.float32) + np.float32(0)  # -0 and 0 are the same question
    if not np.isfinite(shaped).all():
        raise PriveeError('the tensor "columns" must hold finite numbers')
    return shaped


def _given_columns(tensor: InputTensor) -> NDArray[Any]:
    if isinstance(tensor.data, memoryview):
        return read_numbers(tensor.data, tensor.datatype, tensor.shape, tensor.name)
    values = _flattened(tensor.data)
    if not {int, float}.issuperset(map(type, values)):
        raise PriveeError('the tensor "columns" must hold numbers')
    try:
        return np.array(values, dtype=np.float64).reshape(tensor.shape)
    except (ValueError, OverflowError):
        raise PriveeError('the tensor "columns" does not hold as many numbers as its shape says') from None


def _flattened(values: list[Any]) -> list[Any]:
    return list(_flat(values)) if list in set(map(type, values)) else values


def _flat(values: list[Any], depth: int = 0) -> Iterator[Any]:
    """The protocol allows nested rows as well as one flat list."""
    for value in values:
        if isinstance(value, list) and depth < 8:
            yield from _flat(value, depth + 1)
        else:
            yield value
