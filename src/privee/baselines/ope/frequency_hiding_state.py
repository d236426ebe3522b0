"""The state of frequency-hiding order-preserving encryption (Kerschbaum 2015): all values ever encrypted, in order.

Equal values get different ciphertexts. Kerschbaum throws a coin at every equal value on the way down the tree; of three
equal values, say, the six orders are then not equally likely. Here each value gets a random word when it arrives, and
equal values are ordered by their words: every order is equally likely, and drawn before the tree is looked at (Maffei,
Reinert and Schroeder 2017 correct Kerschbaum's scheme by making that order an input). Values of one batch are put in in
random order, because the tree shows the order in which they came.

A file that only the holder of a key can read or change: AES-256-GCM, written whole or not at all, and locked.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from privee.atomic import whole_file
from privee.baselines.ope.search_tree import NO_ROOM, fill_gaps, spread, turns
from privee.defenses.secret_keys import check_key
from privee.errors import PriveeError
from privee.randomness import Draws

Integers = NDArray[np.int64]

BITS = 52
MOST_VALUES = 1 << 26
_LABEL = b"privee frequency-hiding state v1"
_HEADER = struct.Struct("<QQQ")


@dataclasses.dataclass(eq=False, repr=False)
class FrequencyHidingState:
    """Plaintexts in order and their ciphertexts between 1 and 2**bits - 1. Whoever has it can decrypt: it is the key.

    Attributes:
        plaintexts: all values, ascending.
        ties: the random words that order equal values.
        ciphertexts: ascending.
        bits: size of the ciphertext space.
        epoch: how often there was no room and all ciphertexts were spread evenly; those of other epochs are void.

    Example:
        >>> from privee import seeded
        >>> state = FrequencyHidingState()
        >>> ciphertexts = state.encrypt(np.array([0.7, 0.1, 0.1, 0.1]), seeded(1))
        >>> len(set(ciphertexts.tolist())), state.decrypt(ciphertexts).tolist()
        (4, [0.7, 0.1, 0.1, 0.1])
    """

    plaintexts: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.empty(0))
    ties: NDArray[np.uint64] = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    ciphertexts: Integers = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    bits: int = BITS
    epoch: int = 0

    def __len__(self) -> int:
        return len(self.plaintexts)

    def encrypt(self, values: NDArray[np.float64], draws: Draws) -> Integers:
        """Put values (any shape) in and return their ciphertexts, as they are once all of them are in."""
        words = draws.words(2 * values.size).reshape(2, -1)
        flat = values.astype(np.float64).reshape(-1)
        self.insert(flat, words[0], turns(words[1]))
        return self.ciphertexts[self._position(flat, words[0])].reshape(values.shape)

    def decrypt(self, ciphertexts: Any) -> NDArray[np.float64]:
        """The exact values behind ciphertexts of this epoch."""
        wanted = np.asarray(ciphertexts)
        if wanted.dtype.kind not in "iu":
            raise PriveeError(f"ciphertexts must be whole numbers, got {wanted.dtype}")
        wanted = wanted.astype(np.int64)
        at = np.minimum(np.searchsorted(self.ciphertexts, wanted), max(len(self) - 1, 0))
        unknown = self.ciphertexts[at] != wanted if len(self) else np.ones(wanted.shape, dtype=bool)
        if unknown.any():
            count = np.count_nonzero(unknown)
            raise PriveeError(
                f"{count} of {wanted.size} ciphertexts are not in this state, which is in epoch {self.epoch}"
            )
        return self.plaintexts[at]

    def insert(self, values: NDArray[np.float64], ties: NDArray[np.uint64], turn: Integers) -> None:
        """Put values in, the lowest turn first; where there is no room, everything is spread evenly before going on."""
        if len(self) + len(values) > MOST_VALUES:
            raise PriveeError(f"a state holds at most {MOST_VALUES} values; start a new state file")
        order = np.lexsort((ties, values))
        values, ties, turn = values[order], ties[order], turn[order]
        while values.size:
            gap = self._position(values, ties)
            ends = np.concatenate([[0], self.ciphertexts, [1 << self.bits]])
            made = fill_gaps(gap, ends[gap], ends[gap + 1], turn)
            stuck = made == NO_ROOM
            done = turn < turn[stuck].min() if stuck.any() else ~stuck
            self.plaintexts = np.insert(self.plaintexts, gap[done], values[done])
            self.ties = np.insert(self.ties, gap[done], ties[done])
            self.ciphertexts = np.insert(self.ciphertexts, gap[done], made[done])
            if stuck.any():
                self.epoch += 1
                self.ciphertexts = spread(len(self), self.bits, self.epoch)
            values, ties, turn = values[~done], ties[~done], turn[~done]

    def save(self, path: Path | str, key: bytes) -> None:
        """Write it encrypted and authenticated, whole or not at all, readable by its owner only."""
        header = _HEADER.pack(self.bits, self.epoch, len(self))
        arrays = (self.plaintexts.astype("<f8"), self.ties.astype("<u8"), self.ciphertexts.astype("<i8"))
        write_sealed(Path(path), key, _LABEL, header + b"".join(array.tobytes() for array in arrays))

    @classmethod
    def load(cls, path: Path | str, key: bytes) -> FrequencyHidingState:
        """Read what `save` wrote with the same key."""
        body = open_sealed(Path(path), key, _LABEL)
        bits, epoch, count = _HEADER.unpack_from(body)
        parts = np.frombuffer(body, dtype="<u8", offset=_HEADER.size).reshape(3, count)
        plain, ties, ciphertexts = parts[0].view("<f8"), parts[1], parts[2].view("<i8")
        return cls(plain.astype(np.float64), ties.astype(np.uint64), ciphertexts.astype(np.int64), bits, epoch)

    def _position(self, values: NDArray[np.float64], ties: NDArray[np.uint64]) -> Integers:
        """How many entries lie below each value; among equal ones the words decide, by halving."""
        low = np.searchsorted(self.plaintexts, values, side="left")
        high = np.searchsorted(self.plaintexts, values, side="right")
        while (open_ := np.flatnonzero(low < high)).size:
            middle = (low[open_] + high[open_]) // 2
            below = self.ties[middle] < ties[open_]
            low[open_] = np.where(below, middle + 1, low[open_])
            high[open_] = np.where(below, high[open_], middle)
        return low


_MAGIC = b"privee sealed 1\n"
_SALT, _NONCE = 16, 12


def write_sealed(path: Path, key: bytes, label: bytes, body: bytes) -> None:
    """Encrypt and authenticate `body` under `key`, with a salt of its own each time; replaces the file."""
    salt, nonce = os.urandom(_SALT), os.urandom(_NONCE)
    sealed = _cipher(key, salt, label).encrypt(nonce, body, _MAGIC)
    with whole_file(path, force=True, private=True) as partial:
        partial.write_bytes(_MAGIC + salt + nonce + sealed)


def open_sealed(path: Path, key: bytes, label: bytes) -> bytes:
    """The body of a file that `write_sealed` wrote with the same key and label."""
    from cryptography.exceptions import InvalidTag

    try:
        content = path.read_bytes()
    except OSError as error:
        raise PriveeError(f"cannot read {path}: {error.strerror}") from None
    magic, salt, nonce, sealed = _cut(content, len(_MAGIC), _SALT, _NONCE)
    try:
        if magic != _MAGIC or len(nonce) != _NONCE:
            raise InvalidTag
        body: bytes = _cipher(key, salt, label).decrypt(nonce, sealed, _MAGIC)
    except InvalidTag:
        raise PriveeError(f"cannot open {path}: another key than the one it was written with, or damaged") from None
    return body


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep every other process and thread that asks for the same lock waiting. The lock is a file beside `path`."""
    try:
        import fcntl
    except ImportError:
        raise PriveeError("a shared state file needs file locks, which this operating system has not") from None
    try:
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise PriveeError(f"cannot lock {path}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _cipher(key: bytes, salt: bytes, label: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return AESGCM(HKDF(SHA256(), 32, salt, label).derive(check_key(key)))


def _cut(content: bytes, *sizes: int) -> Iterator[bytes]:
    for size in sizes:
        yield content[:size]
        content = content[size:]
    yield content
