"""A look over a request's bytes before protobuf reads them: so few fields as anybody needs.

Four megabytes of empty fields take protobuf half a second, in which nobody else is served, and hundreds of megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from privee.errors import PriveeError

MOST_FIELDS = 512
"""Of a request, all that is in it counted but the contents of tensors: a few tensors, some parameters."""
MOST_SHAPE = 128
"""Bytes of a shape."""
PARAMETERS, INPUTS, OUTPUTS = 4, 5, 6
SHAPE, INPUT_PARAMETERS, CONTENTS, OUTPUT_PARAMETERS = 3, 4, 5, 2
_NESTED = {PARAMETERS: (), INPUTS: (INPUT_PARAMETERS,), OUTPUTS: (OUTPUT_PARAMETERS,)}
_FIXED = {1: 8, 5: 4}
_VARINT, _BYTES = 0, 2


def check_fields(data: bytes, most_values: int) -> None:
    """Refuse a ModelInferRequest of more fields, or of tensors of more ids, than the settings allow."""
    left = MOST_FIELDS
    for number, start, end in _fields(data, 0, len(data)):
        left -= 1
        if number in _NESTED and start < end:
            left -= _inside(data, number, start, end, most_values)
        if left < 0:
            raise PriveeError(f"a request may hold {MOST_FIELDS} fields")


def _inside(data: bytes, kind: int, start: int, end: int, most_values: int) -> int:
    """How many fields a tensor, or a parameter, has."""
    count = 0
    for number, begin, stop in _fields(data, start, end):
        count += 1
        if kind == INPUTS and number == CONTENTS:
            _check_contents(data, begin, stop, most_values)
        if kind == INPUTS and number == SHAPE and stop - begin > MOST_SHAPE:
            raise PriveeError("a shape has at most 8 sizes")
        if number in _NESTED[kind]:
            count += sum(1 for _ in zip(_fields(data, begin, stop), range(MOST_FIELDS + 1), strict=False))
        if count > MOST_FIELDS:
            break
    return count


def _check_contents(data: bytes, start: int, end: int, most: int) -> None:
    """Ids are a field each; numbers come together in one, of a byte each at least."""
    count = 0
    for number, begin, stop in _fields(data, start, end):
        count += 1 if number == 8 else max(1, (stop - begin) // {6: 4, 7: 8}.get(number, 1))
        if count > most:
            raise PriveeError(f"a request may hold {most} values")


def _fields(data: bytes, place: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Each field's number, and where what it holds begins and ends."""
    while place < end:
        tag, place = _varint(data, place, end)
        kind = tag & 7
        if kind == _BYTES:
            size, place = _varint(data, place, end)
        elif kind == _VARINT:
            size = _varint(data, place, end)[1] - place
        else:
            size = _FIXED.get(kind, end)  # groups are of another time
        if size > end - place:
            raise PriveeError(NOT_A_MESSAGE)
        yield tag >> 3, place, place + size
        place += size


def _varint(data: bytes, place: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while place < end and shift < 70:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
    raise PriveeError(NOT_A_MESSAGE)


NOT_A_MESSAGE = "not a message of the Open Inference Protocol, or one that is cut off"
