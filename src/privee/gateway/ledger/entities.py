"""Entities as the ledger knows them: keyed hashes of their ids. The ids themselves are never stored."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from privee.errors import PriveeError

TAG = 12


def hash_entities(key: bytes, entities: Sequence[str]) -> list[bytes]:
    """HMAC-SHA256 of each id's UTF-8 text."""
    try:
        return [hmac.digest(key, entity.encode(), "sha256") for entity in entities]
    except UnicodeEncodeError:
        raise PriveeError("an entity's id must be text that can be written as UTF-8") from None


def tag(entity: bytes) -> str:
    """Enough of the hash to tell entities apart on a screen."""
    return entity.hex()[:TAG]
