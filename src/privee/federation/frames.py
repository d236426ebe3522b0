"""What crosses between the coordinator and a site: raw bytes with a session, a step number and one message.

    magic (4) | kind (1) | busy, microseconds (4) | session (16) | step (8) | message

The session belongs to one job and the step counts the coordinator's requests to one site, so a message that is late,
repeated or meant for another job is recognised (see `privee.federation.answering`). No pickle, no objects of NVFlare's.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from torch import Tensor

from privee.federation.errors import FrameError
from privee.federation.tensors import Packing, Reader, pack_floats, pack_rows, unpack_floats, unpack_rows
from privee.vfl.messages import Embedding, LogitGradient, Logits, Message, Report, ReportRequest, Work

MAGIC = b"PVF1"
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
_REPORT, _FLAG, _LENGTH = struct.Struct("<ddQ"), struct.Struct("<B"), struct.Struct("<I")


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


def _write_work(work: Work, packing: Packing) -> list[bytes]:
    return [_FLAG.pack(work.train), *pack_rows(work.rows), *pack_floats(work.gradient, packing)]


def _read_work(reader: Reader) -> Work:
    train, rows = _flag(reader), unpack_rows(reader)
    return Work(unpack_floats(reader), rows, train)


def _write_logits(logits: Logits, packing: Packing) -> list[bytes]:
    return [_FLAG.pack(logits.train), *pack_rows(logits.rows), *pack_floats(logits.values)]


def _read_logits(reader: Reader) -> Logits:
    train, rows, values = _flag(reader), unpack_rows(reader), unpack_floats(reader)
    if rows is None or values is None or values.ndim != 2 or len(values) != len(rows):
        raise FrameError("logits need one row of numbers for each row number")
    return Logits(values, rows, train)


def _write_report(report: Report, packing: Packing) -> list[bytes]:
    return [_REPORT.pack(report.loss, report.accuracy, report.rows)]


def _read_report(reader: Reader) -> Report:
    loss, accuracy, rows = _REPORT.unpack(reader.take(_REPORT.size))
    if not (math.isfinite(loss) and 0 <= accuracy <= 1):
        raise FrameError("a report makes no sense; has the training run away?")
    return Report(loss, accuracy, rows)


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
    except (ValueError, TypeError, RecursionError):
        raise FrameError("a note is not readable") from None
    if not isinstance(name, str) or not isinstance(values, dict):
        raise FrameError("a note needs a name and values")
    return Note(name, values, bytes(reader.rest()))


def _read_failure(reader: Reader) -> Failure:
    words = bytes(reader.rest()).decode(errors="replace")
    return Failure(" ".join("".join(c if c.isprintable() else " " for c in words).split())[:MAX_WORDS])


def _flag(reader: Reader) -> bool:
    (value,) = reader.unpack(_FLAG)
    if value > 1:
        raise FrameError("a yes or no is neither")
    return value == 1


def _values(kind: type[Embedding] | type[LogitGradient]) -> Callable[[Reader], Any]:
    def read(reader: Reader) -> Any:
        values: Tensor | None = unpack_floats(reader)
        return kind(values)

    return read


def _refuse(_: str) -> NoReturn:
    raise ValueError


_KINDS: list[type] = [Work, Embedding, Logits, LogitGradient, ReportRequest, Report, Note, Failure]
_WRITERS: list[Callable[[Any, Packing], list[bytes]]] = [
    _write_work,
    lambda embedding, packing: pack_floats(embedding.values, packing),
    _write_logits,
    lambda gradient, packing: pack_floats(gradient.values),
    lambda request, packing: [],
    _write_report,
    _write_note,
    lambda failure, packing: [failure.words.encode()[: 4 * MAX_WORDS]],
]
_READERS: list[Callable[[Reader], Content]] = [
    _read_work,
    _values(Embedding),
    _read_logits,
    _values(LogitGradient),
    lambda reader: ReportRequest(),
    _read_report,
    _read_note,
    _read_failure,
]
