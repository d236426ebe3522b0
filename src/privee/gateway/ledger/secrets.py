"""What the gateway's ledger uses its secret key for, beside what every ledger does with one."""

from __future__ import annotations

import dataclasses

from privee.durable import secrets

_PURPOSE = b"privee ledger 1: "


@dataclasses.dataclass(frozen=True, repr=False)
class Subkeys(secrets.LedgerKeys):
    """Keys of 32 bytes.

    Attributes:
        fingerprints: of repeatable releases.
        questions: digests of what the active party put in, see `hash_questions`.
        calls: signs the names of calls to parties, see `party_calls`.
    """

    fingerprints: bytes
    questions: bytes
    calls: bytes


def subkeys(key: bytes) -> Subkeys:
    """All that the ledger itself uses."""
    return secrets.derive(Subkeys, key, _PURPOSE)


def subkey(key: bytes, name: str) -> bytes:
    """The key for one use."""
    return secrets.subkey(key, name, _PURPOSE)


TAG = 12


def tag(entity: bytes) -> str:
    """Enough of the hash to tell entities apart on a screen."""
    return entity.hex()[:TAG]
