"""How messages look on the wire, and the proof at the end that both sides saw the same ones and hold the same records.

A message is a name, a checksum and parts with their lengths: damage is noticed on arrival. What a checksum cannot see,
somebody changing a message on the way, shows in the tags, which cover every message of the pair.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Sequence
from enum import Enum

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from privee.errors import PriveeError

FORMAT = b"privee-align-1"
CHECKSUM = hashlib.sha256().digest_size


class Kind(Enum):
    """The four messages of an alignment; the value is the byte on the wire and the number of parts."""

    REQUEST = (b"\x01", 2)  # active: public key, blinded ids
    ANSWER = (b"\x02", 4)  # passive: public key, setup, response, blinded ids
    AGREEMENT = (b"\x03", 3)  # active: setup of the common ids, response, tag
    CHECK = (b"\x04", 1)  # passive: tag


def pack(kind: Kind, *parts: bytes) -> bytes:
    """Make one message of its kind and parts."""
    code, count = kind.value
    if len(parts) != count:
        raise ValueError(f"{kind.name} has {count} parts, got {len(parts)}")
    body = _joined(parts)
    return FORMAT + code + hashlib.sha256(body).digest() + body


def unpack(kind: Kind, message: bytes, sender: str) -> list[bytes]:
    """The parts of a message, or an error that names its sender."""
    code, count = kind.value
    head = len(FORMAT) + 1
    checksum, body = message[head : head + CHECKSUM], message[head + CHECKSUM :]
    if message[:head] != FORMAT + code:
        raise PriveeError(f"party {sender} sent something else than the {kind.name.lower()} message expected now")
    if hashlib.sha256(body).digest() != checksum:
        raise PriveeError(f"the {kind.name.lower()} message from party {sender} arrived damaged; start again")
    parts = _split(body)
    if parts is None or len(parts) != count:
        raise PriveeError(f"the {kind.name.lower()} message from party {sender} does not have {count} parts")
    return parts


class AlignmentSession:
    """What active and one passive party share: a fresh secret and a running digest of all they exchanged."""

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()
        self._secret = b""
        self._transcript = hashlib.sha256(FORMAT)

    @property
    def public_key(self) -> bytes:
        """To send to the other side."""
        return self._private.public_key().public_bytes_raw()

    def meet(self, public_key: bytes, party: str) -> None:
        """Agree on the secret with the other side's public key."""
        try:
            self._secret = self._private.exchange(X25519PublicKey.from_public_bytes(public_key))
        except ValueError:
            raise PriveeError(f"party {party} sent an unusable public key") from None

    def record(self, *parts: bytes) -> None:
        """Add what was sent or received, in the order of the exchange."""
        self._transcript.update(_joined(parts))

    def tag(self, role: bytes, ids: Sequence[str]) -> bytes:
        """A keyed digest of the exchange, the number of records and the ids in their order.

        Without the secret it says nothing; with it, it confirms a guess of the whole list and nothing less.
        """
        keyed = hmac.new(self._secret, digestmod=hashlib.sha256)
        keyed.update(_joined([role, self._transcript.digest(), struct.pack(">Q", len(ids))]))
        for value in ids:
            keyed.update(_joined([value.encode()]))
        return keyed.digest()


def same_tag(one: bytes, other: bytes) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one, other)


def _joined(parts: Sequence[bytes]) -> bytes:
    return b"".join(struct.pack(">Q", len(part)) + part for part in parts)


def _split(body: bytes) -> list[bytes] | None:
    parts, place = [], 0
    while place < len(body):
        if len(body) - place < 8:
            return None
        (size,) = struct.unpack_from(">Q", body, place)
        place += 8 + size
        if place > len(body):
            return None
        parts.append(body[place - size : place])
    return parts
