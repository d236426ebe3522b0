"""What the ledger's one secret key is used for; each use has a subkey of its own, and none tells about another.

Entities are keyed hashes of their ids. The ids themselves are never stored.
"""

from __future__ import annotations

import dataclasses
import hmac
from collections.abc import Sequence

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from privee.defenses.secret_keys import check_key
from privee.errors import PriveeError

_PURPOSE = b"privee ledger 1: "


@dataclasses.dataclass(frozen=True, repr=False)
class Subkeys:
    """Keys of 32 bytes.

    Attributes:
        entities: hashes ids, see `entities`.
        chain: of the audit log, see `audit_chain`.
        fingerprints: of repeatable releases.
        questions: digests of what the active party put in, see `hash_questions`.
        check: stored in the database to tell whether the key is the one it was made with.
        mark: of the file that shows whether counts were lost, see `mark`.
    """

    entities: bytes
    chain: bytes
    fingerprints: bytes
    questions: bytes
    check: bytes
    mark: bytes


def subkeys(key: bytes) -> Subkeys:
    """All that the ledger itself uses."""
    names = (field.name for field in dataclasses.fields(Subkeys))
    return Subkeys(**{name: subkey(key, name) for name in names})


def subkey(key: bytes, name: str) -> bytes:
    """The key for one use, derived with HKDF-SHA256."""
    check_key(key)
    return HKDF(hashes.SHA256(), length=32, salt=None, info=_PURPOSE + name.encode()).derive(key)


TAG = 12


def hash_entities(key: bytes, entities: Sequence[str]) -> list[bytes]:
    """HMAC-SHA256 of each id's UTF-8 text."""
    try:
        return [hmac.digest(key, entity.encode(), "sha256") for entity in entities]
    except UnicodeEncodeError:
        raise PriveeError("an entity's id must be text that can be written as UTF-8") from None


def hash_questions(key: bytes, entities: Sequence[bytes], questions: Sequence[bytes]) -> list[bytes]:
    """HMAC-SHA256 of each question with its entity's hash: equal columns of two entities do not show."""
    return [hmac.digest(key, entity + question, "sha256") for entity, question in zip(entities, questions, strict=True)]


def tag(entity: bytes) -> str:
    """Enough of the hash to tell entities apart on a screen."""
    return entity.hex()[:TAG]
