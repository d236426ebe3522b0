"""The names that certificates carry: one for each party, one for the coordinator."""

from __future__ import annotations

import hashlib
import re

COORDINATOR = "coordinator"
COORDINATOR_NAME = "coordinator.privee"
RESERVED = ".privee"

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_HASHED = re.compile(r"p-[0-9a-f]{32}")


def party_name(party: str) -> str:
    """The DNS name in a party's certificate; no two parties have the same, also where DNS does not tell them apart.

    Example:
        >>> party_name("bank")
        'bank.party.privee'
        >>> party_name("Bank") == party_name("bank")
        False
    """
    plain = _LABEL.fullmatch(party) and not _HASHED.fullmatch(party)
    label = party if plain else "p-" + hashlib.sha256(party.encode()).hexdigest()[:32]
    return f"{label}.party{RESERVED}"


def role_name(role: str) -> str:
    """The DNS name in a role's certificate."""
    return COORDINATOR_NAME if role == COORDINATOR else party_name(role)
