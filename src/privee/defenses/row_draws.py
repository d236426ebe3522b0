"""Keyed draws for many rows at once: to the last bit those that each row would get alone from `randomness.keyed`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from privee.defenses.secret_keys import prepared_hmac
from privee.errors import PriveeError
from privee.randomness import KEYED, Draws, Shape, to_unit

_FROM_START = modes.CTR(bytes(16))


class RowDraws(Draws):
    """A stream for every row. What is asked for is shared out evenly, to one row after the other.

    That is what a defense wants that draws equally much for each row, in the order of the rows (`Defense.rows_apart`).
    """

    by_row: ClassVar[bool] = True

    def __init__(self, keys: list[bytes]) -> None:
        self._keys = keys

    @functools.cached_property
    def _streams(self) -> list[CipherContext]:
        """Made when they are first asked for: some defenses never draw."""
        return [Cipher(algorithms.AES(key), _FROM_START).encryptor() for key in self._keys]

    def words(self, count: int) -> NDArray[np.uint64]:
        each, rest = divmod(count, max(1, len(self._keys)))
        if rest:
            raise PriveeError(f"cannot share {count} words out evenly to {len(self._keys)} rows")
        zeros = bytes(8 * each)
        drawn = bytearray().join([stream.update(zeros) for stream in self._streams])
        return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False)

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        return to_unit(self.words(shape if isinstance(shape, int) else math.prod(shape))).reshape(shape)


def stream_keys(key: bytes, start: bytes) -> Callable[[Iterable[bytes]], list[bytes]]:
    """From the messages of rows, all of which begin with `start`, to the keys of their draws."""
    return prepared_hmac(key, KEYED + start)
