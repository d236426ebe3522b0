"""Where random draws come from: secure by default, seeded for experiments, keyed for repeatable releases.

All three are one thing, an AES-256-CTR keystream, and differ in the key: fresh from the operating system, derived
from a seed, or derived from a secret key and a message. A stream is consumed strictly in order, so a batch and its
rows one by one get the same draws.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import threading
from typing import Any, ClassVar, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from privee.errors import SettingError

__all__ = ["Draws", "keyed", "secure", "seeded"]

KEYED = b"privee keyed draws v1\0"
"""What every message of keyed draws begins with."""
_BUFFER_WORDS = 4096
_ZEROS = bytes(8 * _BUFFER_WORDS)
_ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0
_SHIFT = np.uint64(12)
_HALF_STEP = 2.0**-53

Shape = int | tuple[int, ...]


class Draws:
    """A stream of random words, and the distributions made from it."""

    by_row: ClassVar[bool] = False
    """Has every row of a batch a stream of its own? Then nothing of a row's release may depend on its neighbours."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` 64-bit words, as an array of the caller's own."""
        raise NotImplementedError

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Uniform on [0, 1), on a grid of 2**-52; one word each."""
        raise NotImplementedError

    def open_uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Uniform on (0, 1): never zero, never one."""
        floats = self.uniform(shape)
        floats += _HALF_STEP
        return floats

    def exponential(self, shape: Shape) -> NDArray[np.float64]:
        """Exponential with mean one; always positive."""
        floats = self.open_uniform(shape)
        np.log(floats, out=floats)
        return np.negative(floats, out=floats)

    def normal(self, shape: Shape) -> NDArray[np.float64]:
        """Standard normal, by inverting its distribution function."""
        from scipy.special import ndtri  # here, so that importing privee stays fast

        floats = self.open_uniform(shape)
        return np.asarray(ndtri(floats, out=floats), dtype=np.float64)

    def __reduce__(self) -> NoReturn:
        raise TypeError("draws are not copied between processes; make them there, e.g. privee.seeded(7, worker)")


class KeystreamDraws(Draws):
    """Draws fixed by a 32-byte key. Safe to share between threads; no two calls get the same words."""

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._lock = threading.Lock()
        self._buffer = np.empty(0, dtype=np.uint64)
        self._floats: NDArray[np.float64] | None = np.empty(0)
        self._next = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        with self._lock:
            if self._next + count <= len(self._buffer):
                return self._buffer[self._advance(count)].copy()
            return self._across_buffers(count)

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        count = shape if isinstance(shape, int) else math.prod(shape)
        with self._lock:
            # A small request is a slice of floats made once for the whole buffer: one vector costs a few microseconds.
            if self._next + count <= len(self._buffer):
                if self._floats is None:
                    self._floats = to_unit(self._buffer.copy())
                drawn = self._floats[self._advance(count)].copy()
                return drawn if count == shape else drawn.reshape(shape)
            return to_unit(self._across_buffers(count)).reshape(shape)

    def _advance(self, count: int) -> slice:
        start, self._next = self._next, self._next + count
        return slice(start, self._next)

    def _across_buffers(self, count: int) -> NDArray[np.uint64]:
        """The rest of this buffer, whole new blocks, and the start of the next buffer, in the stream's order."""
        out = np.empty(count + 2, dtype="<u8")  # two words more than asked for: the cipher wants room for a block
        start = len(self._buffer) - self._next
        out[:start] = self._buffer[self._next :]
        bulk, last = divmod(count - start, _BUFFER_WORDS)
        self._fill(out, start, bulk)
        buffer = np.empty(_BUFFER_WORDS + 2, dtype="<u8")
        self._fill(buffer, 0, 1)
        self._buffer, self._next = buffer[:_BUFFER_WORDS].astype(np.uint64, copy=False), last
        self._floats = None  # made when a small request asks for them
        out[count - last : count] = self._buffer[:last]
        return out[:count].astype(np.uint64, copy=False)

    def _fill(self, out: NDArray[np.uint64], start: int, buffers: int) -> None:
        """Encrypt zeros into `out`, a buffer at a time so that they stay in cache."""
        raw = out.view(np.uint8)
        for at in range(8 * start, 8 * start + buffers * len(_ZEROS), len(_ZEROS)):
            self._cipher.update_into(_ZEROS, raw[at : at + len(_ZEROS) + 15].data)


def to_unit(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Turn words into floats on [0, 1) in place: 52 of their bits behind the exponent of 1, minus 1."""
    words >>= _SHIFT
    words |= _ONE
    floats = words.view(np.float64)
    floats -= 1.0
    return floats


class SecureDraws(Draws):
    """Unpredictable draws, keyed from the operating system.

    Every thread has a stream of its own, replaced after a fork and after `_RENEW_WORDS` words, so neither threads
    nor workers go on with a stream that somebody else holds.
    """

    _RENEW_WORDS = 1 << 20

    def __init__(self) -> None:
        self._own = threading.local()

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._stream(count).words(count)

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        count = shape if isinstance(shape, int) else math.prod(shape)
        return self._stream(count).uniform(shape)

    def _stream(self, count: int) -> KeystreamDraws:
        own = self._own.__dict__
        if own.get("left", -1) < count or own["process"] != (os.getpid(), _forks):
            own["stream"] = KeystreamDraws(os.urandom(32))
            own["process"] = (os.getpid(), _forks)
            own["left"] = max(self._RENEW_WORDS, count)
        own["left"] -= count
        stream: KeystreamDraws = own["stream"]
        return stream

    def __reduce__(self) -> Any:
        return (SecureDraws, ())

    def __repr__(self) -> str:
        return "SecureDraws()"


_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)

_SECURE = SecureDraws()


def secure() -> SecureDraws:
    """The draws every defense uses unless it is given others."""
    return _SECURE


def seeded(seed: int, *path: int | str) -> KeystreamDraws:
    """Reproducible draws, for experiments only. `path` names independent streams: `seeded(7, "worker", 3)`.

    Example:
        >>> bool((seeded(7).uniform(3) == seeded(7).uniform(3)).all())
        True
    """
    name = repr((int(seed), *path)).encode()
    return KeystreamDraws(hashlib.sha256(b"privee seeded draws v1\0" + name).digest())


def keyed(key: bytes, message: bytes) -> KeystreamDraws:
    """Draws fixed by a secret key and a message: same key and message, same draws; else independent."""
    if len(key) < 16:
        raise SettingError(f"a key for draws needs at least 16 bytes, got {len(key)}")
    return KeystreamDraws(hmac.digest(key, KEYED + message, "sha256"))
