"""What crosses between the coordinator and a site: raw bytes with a session, a step number and one message.

    magic (4) | kind (1) | busy, microseconds (4) | session (16) | step (8) | message

The session belongs to one job and the step counts the coordinator's requests to one site, so a message that is late,
repeated or meant for another job is recognised (see `site.executor`). No pickle, no objects of NVFlare's.

Training messages as bytes: fixed layouts, every length checked before memory is taken.
"""

from __future__ import annotations

import dataclasses
import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from privee.errors import FrameError
from privee.federation.wire.tensors import (
    ByteReader,
    Packing,
    pack_embedding,
    pack_floats,
    pack_rows,
    unpack_embedding,
    unpack_floats,
    unpack_rows,
)
from privee.vfl.messages import (
    Embedding,
    EmbeddingAndGradient,
    LogitGradient,
    Logits,
    Message,
    Report,
    ReportRequest,
    Work,
    WorkAndLogits,
)

Writer = Callable[[Any, Packing], list[bytes]]
_REPORT, _FLAG = struct.Struct("<ddQ"), struct.Struct("<B")


def _write_work(work: Work, packing: Packing) -> list[bytes]:
    flags = [_FLAG.pack(work.train), _FLAG.pack(work.ahead)]
    return [*flags, *pack_rows(work.rows), *pack_floats(work.gradient, packing)]


def _read_work(reader: ByteReader) -> Work:
    train, ahead, rows = _flag(reader), _flag(reader), unpack_rows(reader)
    return Work(unpack_floats(reader), rows, train, ahead)


def _write_embedding(embedding: Embedding, packing: Packing) -> list[bytes]:
    return pack_embedding(embedding.values, packing)


def _read_embedding(reader: ByteReader) -> Embedding:
    return Embedding(unpack_embedding(reader))


def _write_logits(logits: Logits, packing: Packing) -> list[bytes]:
    return [_FLAG.pack(logits.train), *pack_rows(logits.rows), *pack_floats(logits.values)]


def _read_logits(reader: ByteReader) -> Logits:
    train, rows, values = _flag(reader), unpack_rows(reader), unpack_floats(reader)
    if rows is None or values is None or values.ndim != 2 or len(values) != len(rows):
        raise FrameError("logits need one row of numbers for each row number")
    return Logits(values, rows, train)


def _write_gradient(gradient: LogitGradient, packing: Packing) -> list[bytes]:
    return pack_floats(gradient.values)


def _read_gradient(reader: ByteReader) -> LogitGradient:
    return LogitGradient(unpack_floats(reader))


def _write_report(report: Report, packing: Packing) -> list[bytes]:
    return [_REPORT.pack(report.loss, report.accuracy, report.rows)]


def _read_report(reader: ByteReader) -> Report:
    loss, accuracy, rows = _REPORT.unpack(reader.take(_REPORT.size))
    if not (math.isfinite(loss) and 0 <= accuracy <= 1):
        raise FrameError("a report makes no sense; has the training run away?")
    return Report(loss, accuracy, rows)


def _write_work_and_logits(both: WorkAndLogits, packing: Packing) -> list[bytes]:
    return [*_write_work(both.work, packing), *_write_logits(both.logits, packing)]


def _write_embedding_and_gradient(both: EmbeddingAndGradient, packing: Packing) -> list[bytes]:
    return [*_write_embedding(both.embedding, packing), *_write_gradient(both.gradient, packing)]


def _flag(reader: ByteReader) -> bool:
    (value,) = reader.unpack(_FLAG)
    if value > 1:
        raise FrameError("a yes or no is neither")
    return value == 1


CODECS: dict[type, tuple[Writer, Callable[[ByteReader], Any]]] = {
    Work: (_write_work, _read_work),
    Embedding: (_write_embedding, _read_embedding),
    Logits: (_write_logits, _read_logits),
    LogitGradient: (_write_gradient, _read_gradient),
    ReportRequest: (lambda request, packing: [], lambda reader: ReportRequest()),
    Report: (_write_report, _read_report),
    WorkAndLogits: (_write_work_and_logits, lambda reader: WorkAndLogits(_read_work(reader), _read_logits(reader))),
    EmbeddingAndGradient: (
        _write_embedding_and_gradient,
        lambda reader: EmbeddingAndGradient(_read_embedding(reader), _read_gradient(reader)),
    ),
}
"""Each kind of message with its writer and its reader, in the order of their numbers on the line."""


MAGIC = b"PVF2"
MAX_BYTES = 1 << 30  # of one message; alignment messages of millions of records are the long ones
MAX_JSON = 1 << 20
MAX_WORDS = 500


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """Everything beside training steps: a name, some JSON and, for alignment, the aligners' own bytes."""

    name: str
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    body: bytes = b""


@dataclasses.dataclass(frozen=True, slots=True)
class SiteFailure:
    """A site's one-line reason why it did not do what it was asked."""

    words: str


Content = Message | Note | SiteFailure


@dataclasses.dataclass(frozen=True, slots=True)
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
    reader = ByteReader(data)
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


def _read_note(reader: ByteReader) -> Note:
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


def _read_failure(reader: ByteReader) -> SiteFailure:
    words = bytes(reader.rest()).decode(errors="replace")
    return SiteFailure(" ".join("".join(c if c.isprintable() else " " for c in words).split())[:MAX_WORDS])


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _write_failure(failure: SiteFailure, packing: Packing) -> list[bytes]:
    return [failure.words.encode(errors="replace")[: 4 * MAX_WORDS]]


_ALL: dict[type, tuple[Writer, Callable[[ByteReader], Content]]] = CODECS | {
    Note: (_write_note, _read_note),
    SiteFailure: (_write_failure, _read_failure),
}
_KINDS = list(_ALL)
_WRITERS, _READERS = zip(*_ALL.values(), strict=True)
