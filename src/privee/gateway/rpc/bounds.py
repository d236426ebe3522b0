"""A look over a request's bytes before protobuf reads them: so few fields as anybody needs.

Four megabytes of empty fields take protobuf half a second, in which nobody else is served, and hundreds of megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from privee.errors import PriveeError

MOST_FIELDS = 512
"""Of a request, all that is in it counted but the contents of tensors: a few tensors, some parameters."""
MOST_SHAPE = 128
"""Bytes of a shape."""
PARAMETERS, INPUTS, OUTPUTS = 4, 5, 6
SHAPE, INPUT_PARAMETERS, CONTENTS, OUTPUT_PARAMETERS = 3, 4, 5, 2
_NESTED: Mapping[int, tuple[int, ...]] = {PARAMETERS: (), INPUTS: (INPUT_PARAMETERS,), OUTPUTS: (OUTPUT_PARAMETERS,)}
_TEXTS, _WIDTHS = 8, {6: 4, 7: 8}
"""Of a tensor's contents: the field of ids, and the bytes of a number in the fields of floats."""
_FIXED = {1: 8, 5: 4}
_VARINT, _BYTES = 0, 2


def check_fields(data: bytes, most_values: int) -> None:
    """Refuse a ModelInferRequest of more fields, or of tensors of more values, than the settings allow."""
    left = _Left(most_values)
    for number, start, end in _fields(data, 0, len(data)):
        left.take(fields=1)
        if number in _NESTED:
            _check_inside(data, number, start, end, left)


class _Left:
    """What a request may still hold."""

    def __init__(self, most_values: int) -> None:
        self._fields, self._values, self._most = MOST_FIELDS, most_values, most_values

    def take(self, *, fields: int = 0, values: int = 0) -> None:
        self._fields, self._values = self._fields - fields, self._values - values
        if self._fields < 0:
            raise PriveeError(f"a request may hold {MOST_FIELDS} fields")
        if self._values < 0:
            raise PriveeError(f"a request may hold {self._most} values")


def _check_inside(data: bytes, kind: int, start: int, end: int, left: _Left) -> None:
    """A tensor, or a parameter."""
    for number, begin, stop in _fields(data, start, end):
        left.take(fields=1)
        if kind == INPUTS and number == SHAPE and stop - begin > MOST_SHAPE:
            raise PriveeError("a shape has at most 8 sizes")
        if kind == INPUTS and number == CONTENTS:
            for inner, first, last in _fields(data, begin, stop):
                left.take(values=_count(data, inner, first, last))
        elif number in _NESTED[kind]:
            for _ in _fields(data, begin, stop):
                left.take(fields=1)


def _count(data: bytes, number: int, start: int, end: int) -> int:
    """How many values are in a field of contents: an id, or numbers, of which the last byte of each has no high bit."""
    if number == _TEXTS:
        return 1
    if number in _WIDTHS:
        return max(1, (end - start) // _WIDTHS[number])
    return max(1, int(np.count_nonzero(np.frombuffer(data, np.uint8, end - start, start) < 128)))


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
