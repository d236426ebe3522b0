"""Messages between gateway and party: four bytes of length, a JSON header of that length, then little-endian float32.

A sealed party's replies have one byte for each entity there.

Nothing is evaluated or unpickled, every size is bounded, and whatever else comes in is one FrameError. Entities are
names of the parties' common records; they are compared as text, exactly.

What both ends of the connection agree on: names of methods, limits, and gRPC's settings.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Sequence, Set
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from privee.errors import FrameError

Floats = NDArray[np.float32]
Codes = NDArray[np.uint8]

MAX_ENTITY_BYTES = 256
MAX_ENTITIES = 16_384  # in one call
MAX_BYTES = 64 << 20  # of one message
MAX_HEADER = 32 << 20
MAX_ABOUT = 4 << 10  # of a header without entities, or places of them
MAX_NUMBER = 1e18  # beyond, a gateway's sums of products leave float32: no model says such a thing
MOST_CODES = 256
REQUEST_DIGITS = 64  # of a request's name, hexadecimal
PROTOCOL = 1


@dataclasses.dataclass(frozen=True)
class EmbedRequest:
    """Embeddings for these entities, please; of these columns, if given, instead of the stored ones.

    `request` is the gateway's own name for this call, by which its ledger and the party's can be compared.
    """

    entities: tuple[str, ...]
    columns: Floats | None = None
    request: str | None = None

    def encode(self) -> bytes:
        """The message as bytes."""
        shape = None if self.columns is None else list(self.columns.shape)
        named = {} if self.request is None else {"request": self.request}
        return _encode({"entities": self.entities, "columns": shape} | named, self.columns)

    @classmethod
    def decode(cls, frame: bytes) -> EmbedRequest:
        """The message that these bytes are, or a FrameError."""
        header, body = _decode(frame, {"entities", "columns"}, may={"request"})
        entities = header["entities"]
        if not isinstance(entities, list) or not 0 < len(entities) <= MAX_ENTITIES:
            raise FrameError(f"entities must be a list of 1 to {MAX_ENTITIES} texts")
        if not (are_plain(entities) or all(map(is_entity, entities))):
            raise FrameError(f"an entity must be a text of 1 to {MAX_ENTITY_BYTES} bytes")
        columns = None if header["columns"] is None else _floats(header["columns"], body, len(entities))
        if columns is None and body:
            raise FrameError("the message is longer than its header says")
        request = header.get("request")
        if request is not None and not (isinstance(request, str) and re.fullmatch(_REQUEST, request)):
            raise FrameError("a request's name is not one")
        return cls(tuple(entities), columns, request)


@dataclasses.dataclass(frozen=True)
class EmbedReply:
    """One embedding per entity, zeros for those the party does not know, and whose weights made them.

    A sealed party sends codes instead, and how many different ones there are.
    """

    embeddings: Floats | None
    unknown: tuple[int, ...]
    weights: str
    codes: Codes | None = None
    n_codes: int | None = None

    def encode(self) -> bytes:
        """The message as bytes."""
        header: dict[str, Any] = {"unknown": self.unknown, "weights": self.weights}
        if self.codes is not None:
            return _encode(header | {"codes": self.n_codes}) + self.codes.tobytes()
        if self.embeddings is None:
            raise FrameError("a reply has embeddings or codes")
        return _encode(header | {"shape": list(self.embeddings.shape)}, self.embeddings)

    @classmethod
    def decode(cls, frame: bytes, count: int) -> EmbedReply:
        """From bytes, for a request of `count` entities."""
        # Bounded by what was asked: to read a header of megabytes would keep the gateway from all others.
        header, body = _decode(frame, {"unknown", "weights"}, MAX_ABOUT + 8 * count, may={"shape", "codes"})
        if ("shape" in header) == ("codes" in header):
            raise FrameError("a reply has embeddings or codes, and never both")
        embeddings = _floats(header["shape"], body, count) if "shape" in header else None
        codes = _codes(header["codes"], body, count) if "codes" in header else None
        unknown, weights = header["unknown"], header["weights"]
        if not isinstance(unknown, list) or not all(type(place) is int and 0 <= place < count for place in unknown):
            raise FrameError("unknown must be a list of places")
        if any(place >= later for place, later in itertools.pairwise(unknown)):
            raise FrameError("unknown must name each place once, in order")
        if not isinstance(weights, str) or len(weights) != 64:
            raise FrameError("weights must be a SHA-256 checksum")
        return cls(embeddings, tuple(unknown), weights, codes, header.get("codes"))


@dataclasses.dataclass(frozen=True)
class About:
    """What a party says of itself."""

    party: str
    weights: str
    width: int
    features: int
    rows: int | None
    version: str
    codes: int | None = None
    """How many there are, if it is sealed; its width is 1 then."""
    receipts: bool = False
    """Whether it keeps a ledger, and so wants to know what the gateway calls each request."""

    def encode(self) -> bytes:
        """The message as bytes."""
        # What an older gateway does not know is said only where it matters.
        newer = {name: value for name, value in (("codes", self.codes), ("receipts", self.receipts)) if value}
        said = {name: value for name, value in vars(self).items() if name not in ("codes", "receipts")}
        return _encode({"protocol": PROTOCOL} | said | newer)

    @classmethod
    def decode(cls, frame: bytes) -> About:
        """The message that these bytes are, or a FrameError."""
        known = {"protocol", "party", "weights", "width", "features", "rows", "version"}
        header, _ = _decode(frame, known, MAX_ABOUT, may={"codes", "receipts"})
        if header.pop("protocol") != PROTOCOL:
            raise FrameError(f"the party speaks another protocol than {PROTOCOL}; use the same version of privee")
        about = cls(**header)
        texts = all(isinstance(text, str) and len(text) <= 300 for text in (about.party, about.weights, about.version))
        counts = all(type(count) is int and 0 < count < 2**31 for count in (about.width, about.features))
        rows = about.rows is None or (type(about.rows) is int and about.rows >= 0)
        codes = "codes" not in header or (_is_size(about.codes) and about.width == 1)
        newer = codes and type(about.receipts) is bool
        if not (texts and counts and rows and newer and len(about.weights) == 64):
            raise FrameError("the party describes itself in a way that makes no sense")
        return about


def is_entity(value: object) -> bool:
    """Whether this can name an entity: Unicode text of 1 to 256 bytes of UTF-8."""
    try:
        return isinstance(value, str) and 0 < len(value.encode()) <= MAX_ENTITY_BYTES
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def are_plain(values: Sequence[Any]) -> bool:
    """Whether all are entities that need no closer look, as most do not: short texts of one byte per character."""
    try:
        plain = "".join(values).isascii()
    except TypeError:
        return False
    lengths = set(map(len, values))
    return plain and 0 not in lengths and max(lengths, default=0) <= MAX_ENTITY_BYTES


def _encode(header: dict[str, Any], body: Floats | None = None) -> bytes:
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    raw = b"" if body is None else np.ascontiguousarray(body, dtype="<f4").tobytes()
    return len(text).to_bytes(4, "big") + text + raw


def _decode(
    frame: bytes, keys: set[str], most: int = MAX_HEADER, *, may: Set[str] = frozenset()
) -> tuple[dict[str, Any], memoryview]:
    """Header, which has exactly these keys, and perhaps some of those it may have, and what follows it."""
    length = int.from_bytes(frame[:4], "big")
    if len(frame) < 4 or length > min(most, len(frame) - 4):
        raise FrameError("the message is cut off, or not one of privee's")
    try:
        header = json.loads(frame[4 : 4 + length].decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise FrameError("the message's header is not readable") from None
    if not isinstance(header, dict) or set(header) - may != keys:
        raise FrameError("the message's header has not the expected parts")
    return header, memoryview(frame)[4 + length :]


def _floats(shape: Any, body: memoryview, count: int) -> Floats:
    """Rows of finite numbers, as many as were asked for."""
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(side) is int and side > 0 for side in shape):
        raise FrameError("a shape must be two positive whole numbers")
    if shape[0] != count or 4 * math.prod(shape) != len(body):
        raise FrameError("the numbers are not as many as they should be")
    values = np.frombuffer(body, dtype="<f4").reshape(shape).astype(np.float32, copy=False)
    if not (values.min() >= -MAX_NUMBER and values.max() <= MAX_NUMBER):  # written so that NaN fails too
        raise FrameError("a number is not finite, or too large to calculate with")
    return values


def _codes(size: Any, body: memoryview, count: int) -> Codes:
    """A byte for each entity, all below the number of codes."""
    if not _is_size(size):
        raise FrameError(f"the number of codes must be 2 to {MOST_CODES}")
    codes = np.frombuffer(body, dtype=np.uint8)
    if len(codes) != count or codes.max() >= size:
        raise FrameError("the codes are not as many as they should be, or not among those there are")
    return codes


def _is_size(size: Any) -> bool:
    return type(size) is int and 2 <= size <= MOST_CODES


def _refuse(_: str) -> NoReturn:
    raise ValueError


_REQUEST = f"[0-9a-f]{{{REQUEST_DIGITS}}}"

SERVICE = "privee.Party"
EMBED, ABOUT = f"/{SERVICE}/Embed", f"/{SERVICE}/About"

# A party's errors travel as one of these words; free text of a party is never passed on.
STORE_FAILED, BAD_COLUMNS = "store-failed", "bad-columns"
LEDGER_FAILED, PARTY_BUDGET = "ledger-failed", "party-budget"

Options = list[tuple[str, Any]]

_LIMITS: Options = [("grpc.max_receive_message_length", MAX_BYTES), ("grpc.max_send_message_length", MAX_BYTES)]

SERVER_OPTIONS: Options = [
    *_LIMITS,
    ("grpc.so_reuseport", 0),  # two parties on one port would share the calls, silently
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_metadata_size", 16 << 10),
    # What a caller may hold before it has shown who it is, and after.
    ("grpc.server_handshake_timeout_ms", 5000),
    ("grpc.max_allowed_incoming_connections", 512),  # leaves the process files to open for itself
    ("grpc.max_concurrent_streams", 64),  # of one connection
    ("grpc.http2.bdp_probe", 0),  # or gRPC takes in megabytes of a message that nobody has asked it to read
    ("grpc.max_connection_idle_ms", 300_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
]

CHANNEL_OPTIONS: Options = [
    *_LIMITS,
    # A party that is back is found at once: gRPC's own pauses between attempts grow to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),  # also how long one attempt may take
    ("grpc.max_reconnect_backoff_ms", 100),
    ("grpc.dns_min_time_between_resolutions_ms", 1000),
    # A connection whose other end is gone without a word is given up.
    ("grpc.keepalive_time_ms", 5000),
    ("grpc.keepalive_timeout_ms", 2000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_retries", 0),  # retries are counted here
    ("grpc.enable_http_proxy", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.use_local_subchannel_pool", 1),  # two gateways in one process share no connection
]


def server_credentials(ca: bytes, cert: bytes, key: bytes) -> Any:
    """Show this certificate, and take only callers whose certificate is of the same CA, and made for asking."""
    import grpc

    return grpc.ssl_server_credentials([(key, cert)], ca, require_client_auth=True)


def channel_credentials(ca: bytes, cert: bytes, key: bytes) -> Any:
    """Show this certificate, and take only a party whose certificate is of the same CA."""
    import grpc

    return grpc.ssl_channel_credentials(ca, key, cert)
