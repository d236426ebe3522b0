"""Calls to parties that keep a ledger of their own, each under a name that the party writes down too.

A name is random and signed with a key of the ledger's: that a call was this gateway's shows even if it ended before it
wrote it down.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa

from privee.gateway.ledger.schema import party_calls

Outcome = Literal["answered", "refused", "failed"]
_HALF = 16  # bytes


class SentCall(NamedTuple):
    """One call, as it is stored.

    Attributes:
        name: for gateway and party alike.
        party: its name.
        at: the ledger's time when it ended.
        entities: how many were asked for.
        outcome: `answered`, `refused` by the party's ledger, or `failed`: then the party may have answered or not.
    """

    name: str
    party: str
    at: int
    entities: int
    outcome: Outcome


def new_name(key: bytes, party: str) -> str:
    """Of a call to this party: 64 hexadecimal digits."""
    return _signed(key, party, secrets.token_bytes(_HALF))


def is_own(key: bytes, party: str, name: str) -> bool:
    """Whether a gateway with this key made the name, for this party."""
    if not re.fullmatch(r"[0-9a-f]{64}", name):
        return False
    return hmac.compare_digest(_signed(key, party, bytes.fromhex(name)[:_HALF]), name)


def record(cursor: Any, mark: str, calls: Sequence[SentCall]) -> None:
    """Write calls down; once more does nothing."""
    marks = ", ".join([mark] * len(SentCall._fields))
    insert = f"INSERT INTO party_calls ({', '.join(SentCall._fields)}) VALUES ({marks})"  # noqa: S608 - constants
    cursor.executemany(f"{insert} ON CONFLICT DO NOTHING", [tuple(call) for call in calls])


def calls_to(connection: sa.Connection, party: str) -> list[SentCall]:
    """Those to a party."""
    chosen = sa.select(*(party_calls.c[name] for name in SentCall._fields))
    rows = connection.execute(chosen.where(party_calls.c.party == party))
    return [SentCall(*row) for row in rows]


def _signed(key: bytes, party: str, draw: bytes) -> str:
    return (draw + hmac.digest(key, draw + party.encode(), "sha256")[:_HALF]).hex()
