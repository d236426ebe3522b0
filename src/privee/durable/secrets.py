"""What a ledger's one secret key is used for; each use has a subkey of its own, and none tells about another.

Entities are keyed hashes of their ids. The ids themselves are never stored.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from privee.defenses.secret_keys import check_key
from privee.errors import PriveeError

BLOCK = 64


@dataclasses.dataclass(frozen=True, repr=False)
class LedgerKeys:
    """Keys of 32 bytes that every ledger has.

    Attributes:
        entities: hashes ids, see `hash_entities`.
        chain: of the audit log, see `audit_chain`.
        check: stored in the database to tell whether the key is the one it was made with.
        mark: of the file that shows whether counts were lost, see `mark`.
    """

    entities: bytes
    chain: bytes
    check: bytes
    mark: bytes


Keys = TypeVar("Keys", bound=LedgerKeys)


def derive(kind: type[Keys], key: bytes, purpose: bytes) -> Keys:
    """All keys of one kind of ledger; `purpose` tells it from the others."""
    return kind(**{field.name: subkey(key, field.name, purpose) for field in dataclasses.fields(kind)})


def subkey(key: bytes, name: str, purpose: bytes) -> bytes:
    """The key for one use, derived with HKDF-SHA256."""
    check_key(key)
    return HKDF(hashes.SHA256(), length=32, salt=None, info=purpose + name.encode()).derive(key)


def hash_entities(key: bytes, entities: Sequence[str]) -> list[bytes]:
    """HMAC-SHA256 of each id's UTF-8 text."""
    try:
        return keyed_digests(key, (entity.encode() for entity in entities))
    except UnicodeEncodeError:
        raise PriveeError("an entity's id must be text that can be written as UTF-8") from None


def hash_questions(key: bytes, entities: Sequence[bytes], questions: Sequence[bytes]) -> list[bytes]:
    """HMAC-SHA256 of each question with its entity's hash: equal columns of two entities do not show."""
    return keyed_digests(key, (entity + question for entity, question in zip(entities, questions, strict=True)))


def keyed_digests(key: bytes, messages: Iterable[bytes]) -> list[bytes]:
    """HMAC-SHA256 of each, with the key's part worked out once: half of the time that each by itself would take."""
    inner, outer = _pads(key)
    found = []
    for message in messages:
        inside, outside = inner.copy(), outer.copy()
        inside.update(message)
        outside.update(inside.digest())
        found.append(outside.digest())
    return found


@functools.lru_cache(maxsize=16)
def _pads(key: bytes) -> tuple[Any, Any]:
    """SHA-256 that has seen the key for the inside, and for the outside, as RFC 2104 has it."""
    if len(key) > BLOCK:
        raise PriveeError("a key for digests has at most 64 bytes")
    filled = key.ljust(BLOCK, b"\0")
    return tuple(hashlib.sha256(bytes(byte ^ pad for byte in filled)) for pad in (0x36, 0x5C))  # type: ignore[return-value]
