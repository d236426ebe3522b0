"""Entities as the ledger knows them: keyed hashes of their ids. The ids themselves are never stored."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from privee.errors import PriveeError

TAG = 12


def hash_entities(key: bytes, entities: Sequence[str]) -> list[bytes]:
    """HMAC-SHA256 of each id's UTF-8 text."""
    return [hmac.digest(key, _text(entity, place), "sha256") for place, entity in enumerate(entities)]


def tag(entity: bytes) -> str:
    """Enough of the hash to tell entities apart on a screen."""
    return entity.hex()[:TAG]


def _text(entity: str, place: int) -> bytes:
    try:
        return entity.encode()
    except (UnicodeEncodeError, AttributeError):
        raise PriveeError(f"the id of entity {place} is not text that can be written as UTF-8") from None
