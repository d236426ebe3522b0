"""Codes are drawn once: the draw of an entity is fixed by a secret that the party alone holds, and by its id.

The code that the encoder chose is in it too: one draw for two choices would show how they differ. So a draw that is
made again, after a crash or by a second server with the same secret, is the same draw. What was sent is kept all the
same: a record that changes may have another code, and that would be a second one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privee.atomic import whole_file
from privee.errors import PriveeError
from privee.randomness import Draws
from privee.theory import released_codes
from privee.vfl.seal.settings import Seal

KEY = "seal.key"
KEY_BYTES = 32
_LABEL = b"privee sealed draw v1\0"

Codes = NDArray[np.uint8]


class FixedDraws(Draws):
    """Hands out words that were worked out before, in order."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words, self._next = words, 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next ones."""
        found = self._words[self._next : self._next + count]
        if len(found) < count:
            raise PriveeError("there are fewer draws than records")
        self._next += count
        return found.copy()


def entity_words(secret: bytes, entities: Sequence[str], chosen: Codes) -> NDArray[np.uint64]:
    """One word per entity: a keyed hash of its choice and its id."""
    raw = b"".join(
        hmac.digest(secret, _LABEL + bytes((code,)) + entity.encode("utf-8", "surrogatepass"), "sha256")[:8]
        for entity, code in zip(entities, chosen.tolist(), strict=True)
    )
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


def drawn(chosen: Codes, seal: Seal, secret: bytes, entities: Sequence[str]) -> Codes:
    """What is sent for these entities, whose encoder chose these codes: for ever the same."""
    if seal.epsilon is None:
        return chosen
    return released_codes(chosen, seal.codes, seal.epsilon, FixedDraws(entity_words(secret, entities, chosen)))


def seal_identity(weights: str, seal: Seal, secret: bytes) -> str:
    """64 hex digits: the same encoder with the same secret draws the same codes, whatever model they are for."""
    public = hmac.digest(secret, b"privee seal identity v1", "sha256").hex()
    return hashlib.sha256("\n".join(("privee seal v1", weights, seal.spec, public)).encode()).hexdigest()


def new_secret() -> bytes:
    """A fresh one, from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


def kept_secret(folder: Path, name: str = KEY) -> bytes:
    """The party's secret in its folder of a run; made there if there is none yet, for its owner's eyes alone.

    No crash leaves half of one, and of two processes that make one at the same time the first one's stays.
    """
    path = folder / name
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with whole_file(path, private=True) as partial:
                partial.write_bytes(new_secret())
        except PriveeError:
            if not path.is_file():  # else another process was quicker
                raise
    return read_secret(folder, name)


def read_secret(folder: Path, name: str = KEY) -> bytes:
    """The party's secret in its folder of a run."""
    path, what = folder / name, "codes" if name == KEY else "noise"
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        raise PriveeError(
            f"{path} is missing: without it other {what} would be drawn than those that were sent; restore it"
        ) from None
    if len(found) != KEY_BYTES:
        raise PriveeError(f"{path} is damaged: it holds {len(found)} bytes, not {KEY_BYTES}")
    return found
