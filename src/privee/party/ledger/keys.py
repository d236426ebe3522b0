"""What a party uses its secret for: every use has a key of its own."""

from __future__ import annotations

import dataclasses

from privee.durable import secrets

_PURPOSE = b"privee party ledger 1: "


@dataclasses.dataclass(frozen=True, repr=False)
class PartyKeys(secrets.LedgerKeys):
    """Keys of 32 bytes.

    Attributes:
        variants: digests of unsealed answers.
    """

    variants: bytes


def party_keys(secret: bytes) -> PartyKeys:
    """All of them."""
    return secrets.derive(PartyKeys, secret, _PURPOSE)
