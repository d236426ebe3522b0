"""Tensors as bytes: a kind, the sides, then little-endian numbers; exact, or in fewer bits with a scale.

What a sealed party sends are codes: one byte a record, whatever the packing.

Nothing is evaluated, every size is checked against the bytes that are there, and numbers must be finite.
"""

from __future__ import annotations

import math
import struct
from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

from privee.errors import FrameError, PriveeError

MAX_SIDES, MAX_NUMBERS = 8, 1 << 30
ABSENT, FLOAT32, FLOAT64, ROWS, HALF, BYTE, CODES = range(7)
_EXACT = {FLOAT32: "<f4", FLOAT64: "<f8"}
_LARGEST = np.nextafter(np.finfo(np.float32).max / np.float32(127), np.float32(0))  # 127 times this is still finite


class Packing(StrEnum):
    """How embeddings and their gradients travel: exactly, or with two or one byte a number."""

    EXACT = "exact"
    FP16 = "fp16"
    INT8 = "int8"


class ByteReader:
    """Takes parts off the front of a message and notices when there are too few or too many bytes."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._view, self._place = memoryview(data), 0

    def take(self, size: int) -> memoryview:
        """The next `size` bytes."""
        if size > len(self._view) - self._place:
            raise FrameError("the message is cut off")
        self._place += size
        return self._view[self._place - size : self._place]

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        """Take the next numbers from the bytes."""
        return layout.unpack(self.take(layout.size))

    def rest(self) -> memoryview:
        """All that is left."""
        return self.take(len(self._view) - self._place)

    def end(self) -> None:
        """Nothing may be left."""
        if self._place != len(self._view):
            raise FrameError("the message is longer than it should be")


_HEAD, _SIDE = struct.Struct("<BB"), struct.Struct("<I")


def pack_floats(tensor: Tensor | None, packing: Packing = Packing.EXACT) -> list[bytes]:
    """A tensor of floats, or None."""
    if tensor is None:
        return [_HEAD.pack(ABSENT, 0)]
    values = tensor.detach().numpy()
    if not np.isfinite(values).all():
        raise PriveeError("the training has run away: a number is not finite; use a lower learning rate")
    if packing is Packing.FP16:
        return [*_head(HALF, values), *_half(values)]
    if packing is Packing.INT8:
        return [*_head(BYTE, values), *_byte(values)]
    kind = FLOAT64 if values.dtype == np.float64 else FLOAT32
    return [*_head(kind, values), np.ascontiguousarray(values, dtype=_EXACT[kind]).tobytes()]


def packed(tensor: Tensor) -> bytes:
    """A tensor of floats alone, for a note."""
    return b"".join(pack_floats(tensor))


def unpacked(data: bytes) -> Tensor:
    """The inverse of `packed`; nothing else may be there."""
    reader = ByteReader(data)
    found = unpack_floats(reader)
    reader.end()
    if found is None:
        raise FrameError("numbers are missing")
    return found


def unpack_floats(reader: ByteReader) -> Tensor | None:
    """The inverse of `pack_floats`; reduced numbers come back as float32."""
    return _unpack_floats(reader, *reader.unpack(_HEAD))


def _unpack_floats(reader: ByteReader, kind: int, sides: int) -> Tensor | None:
    if kind == ABSENT and sides == 0:
        return None
    shape = _shape(reader, sides)
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at below
        values = _values(reader, kind, shape)
    if not np.isfinite(values).all():
        raise FrameError("a number is not finite")
    return torch.from_numpy(values.reshape(shape))


def _values(reader: ByteReader, kind: int, shape: tuple[int, ...]) -> np.ndarray:
    count = math.prod(shape)
    if kind in _EXACT:
        return _numbers(reader, _EXACT[kind], count)
    if kind == HALF:
        scale = _numbers(reader, "<f4", 1)
        return _numbers(reader, "<f2", count).astype(np.float32) * scale
    if kind == BYTE and shape:
        scales = _numbers(reader, "<f4", shape[0])
        return _numbers(reader, "<i1", count).reshape(shape[0], math.prod(shape[1:])) * scales[:, None]
    raise FrameError("the message holds numbers of an unknown kind")


def pack_embedding(tensor: Tensor | None, packing: Packing = Packing.EXACT) -> list[bytes]:
    """What a party makes of rows: floats, a sealed party's codes, or None."""
    if tensor is None or tensor.dtype != torch.uint8:
        return pack_floats(tensor, packing)
    if tensor.ndim != 1:
        raise PriveeError("codes are a list, one for each record")
    return [*_head(CODES, tensor.numpy()), tensor.numpy().tobytes()]


def unpack_embedding(reader: ByteReader) -> Tensor | None:
    """The inverse of `pack_embedding`."""
    kind, sides = reader.unpack(_HEAD)
    if kind != CODES:
        return _unpack_floats(reader, kind, sides)
    if sides != 1:
        raise FrameError("codes are a list, one for each record")
    return torch.from_numpy(_numbers(reader, "u1", *_shape(reader, 1)))


def pack_rows(rows: Tensor | None) -> list[bytes]:
    """Row numbers, or None."""
    if rows is None:
        return [_HEAD.pack(ABSENT, 0)]
    numbers = rows.numpy()
    if numbers.ndim != 1 or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < 1 << 32):
        raise PriveeError("row numbers are a list of whole numbers below 2**32")
    return [*_head(ROWS, numbers), numbers.astype("<u4").tobytes()]


def unpack_rows(reader: ByteReader) -> Tensor | None:
    """The inverse of `pack_rows`."""
    kind, sides = reader.unpack(_HEAD)
    if kind == ABSENT and sides == 0:
        return None
    if kind != ROWS or sides != 1:
        raise FrameError("the message holds no row numbers where they should be")
    return torch.from_numpy(_numbers(reader, "<u4", *_shape(reader, 1)).astype(np.int64))


def _head(kind: int, values: np.ndarray) -> list[bytes]:
    if values.ndim > MAX_SIDES:
        raise PriveeError(f"a tensor has more than {MAX_SIDES} sides")
    return [_HEAD.pack(kind, values.ndim), *(_SIDE.pack(side) for side in values.shape)]


def _half(values: np.ndarray) -> list[bytes]:
    """One scale for all, so that small gradients do not vanish."""
    scale = np.float32(np.abs(values).max(initial=0.0)) or np.float32(1.0)
    return [scale.astype("<f4").tobytes(), (values / scale).astype("<f2").tobytes()]


def _byte(values: np.ndarray) -> list[bytes]:
    """One scale for each row."""
    if not values.ndim:
        raise PriveeError("a single number cannot travel as int8")
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    scales = (np.abs(flat).max(axis=1, initial=0.0) / 127).astype(np.float32)
    scales[scales == 0] = 1.0
    scales = np.minimum(scales, _LARGEST)
    return [scales.astype("<f4").tobytes(), np.rint(flat / scales[:, None]).astype("<i1").tobytes()]


def _shape(reader: ByteReader, sides: int) -> tuple[int, ...]:
    if sides > MAX_SIDES:
        raise FrameError(f"a tensor has more than {MAX_SIDES} sides")
    shape = tuple(reader.unpack(_SIDE)[0] for _ in range(sides))
    if math.prod(max(side, 1) for side in shape) > MAX_NUMBERS:  # beside an empty side the others count as well
        raise FrameError("a tensor is too large")
    return shape


def _numbers(reader: ByteReader, layout: str, count: int) -> np.ndarray:
    """So many numbers, as an array of one's own."""
    dtype = np.dtype(layout)
    return np.frombuffer(reader.take(count * dtype.itemsize), dtype=dtype).astype(dtype.newbyteorder("="))
