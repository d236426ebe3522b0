"""What a ledger's one secret key is used for; each use has a subkey of its own, and none tells about another.

Entities are keyed hashes of their ids. The ids themselves are never stored.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import TypeVar

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from privee.defenses.secret_keys import PAD_BYTES, check_key, prepared_hmac
from privee.errors import PriveeError


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
        return keyed_digests(key, map(str.encode, entities))
    except UnicodeEncodeError:
        raise PriveeError("an entity's id must be text that can be written as UTF-8") from None


def hash_questions(key: bytes, entities: Sequence[bytes], questions: Sequence[bytes]) -> list[bytes]:
    """HMAC-SHA256 of each question with its entity's hash: equal columns of two entities do not show."""
    return keyed_digests(key, map(b"".join, zip(entities, questions, strict=True)))


def keyed_digests(key: bytes, messages: Iterable[bytes]) -> list[bytes]:
    """HMAC-SHA256 of each, with the key's part worked out once: half of the time that each by itself would take."""
    if len(key) > PAD_BYTES:
        raise PriveeError(f"a key for digests has at most {PAD_BYTES} bytes")
    return _hmac(key)(messages)


_hmac = functools.lru_cache(maxsize=16)(prepared_hmac)
