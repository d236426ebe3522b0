"""What crosses between the coordinator and a site: raw bytes with a session, a step number and one message.

    magic (4) | kind (1) | busy, microseconds (4) | session (16) | step (8) | message

The session belongs to one job and the step counts the coordinator's requests to one site, so a message that is late,
repeated or meant for another job is recognised (see `privee.federation.answering`). No pickle, no objects of NVFlare's.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from privee.errors import FrameError
from privee.federation.message_bytes import CODECS, Writer
from privee.federation.tensors import Packing, Reader
from privee.vfl.messages import Message

MAGIC = b"PVF2"
MAX_BYTES = 1 << 30  # of one message; alignment messages of millions of records are the long ones
MAX_JSON = 1 << 20
MAX_WORDS = 500


@dataclass(frozen=True, slots=True)
class Note:
    """Everything beside training steps: a name, some JSON and, for alignment, the aligners' own bytes."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Failure:
    """A site's one-line reason why it did not do what it was asked."""

    words: str


Content = Message | Note | Failure


@dataclass(frozen=True, slots=True)
class Frame:
    """One message with what identifies it; `busy` is how long the answering side worked on it, in microseconds."""

    session: bytes
    step: int
    content: Content
    busy: int = 0


_HEAD = struct.Struct("<4sBI16sQ")
_LENGTH = struct.Struct("<I")


def encode(frame: Frame, packing: Packing = Packing.EXACT) -> bytes:
    """As bytes; embeddings and their gradients as `packing` says."""
    kind = _KINDS.index(type(frame.content))
    head = _HEAD.pack(MAGIC, kind, min(frame.busy, 2**32 - 1), frame.session, frame.step)
    return b"".join([head, *_WRITERS[kind](frame.content, packing)])


def decode(data: bytes | memoryview) -> Frame:
    """From bytes; whatever is not exactly one message is a FrameError."""
    if len(data) > MAX_BYTES:
        raise FrameError(f"a message of {len(data):,} bytes is too long")
    reader = Reader(data)
    magic, kind, busy, session, step = _HEAD.unpack(reader.take(_HEAD.size))
    if magic != MAGIC or kind >= len(_KINDS):
        raise FrameError("this is not a message of this version of privee")
    content = _READERS[kind](reader)
    reader.end()
    return Frame(session, step, content, busy)


def _write_note(note: Note, packing: Packing) -> list[bytes]:
    text = json.dumps([note.name, dict(note.values)], allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MAX_JSON:
        raise FrameError(f"a note of {len(text):,} bytes is too long")
    return [_LENGTH.pack(len(text)), text, note.body]


def _read_note(reader: Reader) -> Note:
    (length,) = reader.unpack(_LENGTH)
    if length > MAX_JSON:
        raise FrameError(f"a note of {length:,} bytes is too long")
    try:
        name, values = json.loads(bytes(reader.take(length)).decode(), parse_constant=_refuse)
        json.dumps([name, values], ensure_ascii=False).encode()  # half a character would break what it is written to
    except (ValueError, TypeError, RecursionError):
        raise FrameError("a note is not readable") from None
    if not isinstance(name, str) or not isinstance(values, dict):
        raise FrameError("a note needs a name and values")
    return Note(name, values, bytes(reader.rest()))


def _read_failure(reader: Reader) -> Failure:
    words = bytes(reader.rest()).decode(errors="replace")
    return Failure(" ".join("".join(c if c.isprintable() else " " for c in words).split())[:MAX_WORDS])


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _write_failure(failure: Failure, packing: Packing) -> list[bytes]:
    return [failure.words.encode(errors="replace")[: 4 * MAX_WORDS]]


_ALL: dict[type, tuple[Writer, Callable[[Reader], Content]]] = CODECS | {
    Note: (_write_note, _read_note),
    Failure: (_write_failure, _read_failure),
}
_KINDS = list(_ALL)
_WRITERS, _READERS = zip(*_ALL.values(), strict=True)
