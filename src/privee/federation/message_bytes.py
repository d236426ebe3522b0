"""Training messages as bytes: fixed layouts, every length checked before memory is taken."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from privee.errors import FrameError
from privee.federation.tensors import Packing, Reader, pack_floats, pack_rows, unpack_floats, unpack_rows
from privee.vfl.messages import (
    Embedding,
    EmbeddingAndGradient,
    LogitGradient,
    Logits,
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


def _read_work(reader: Reader) -> Work:
    train, ahead, rows = _flag(reader), _flag(reader), unpack_rows(reader)
    return Work(unpack_floats(reader), rows, train, ahead)


def _write_embedding(embedding: Embedding, packing: Packing) -> list[bytes]:
    return pack_floats(embedding.values, packing)


def _read_embedding(reader: Reader) -> Embedding:
    return Embedding(unpack_floats(reader))


def _write_logits(logits: Logits, packing: Packing) -> list[bytes]:
    return [_FLAG.pack(logits.train), *pack_rows(logits.rows), *pack_floats(logits.values)]


def _read_logits(reader: Reader) -> Logits:
    train, rows, values = _flag(reader), unpack_rows(reader), unpack_floats(reader)
    if rows is None or values is None or values.ndim != 2 or len(values) != len(rows):
        raise FrameError("logits need one row of numbers for each row number")
    return Logits(values, rows, train)


def _write_gradient(gradient: LogitGradient, packing: Packing) -> list[bytes]:
    return pack_floats(gradient.values)


def _read_gradient(reader: Reader) -> LogitGradient:
    return LogitGradient(unpack_floats(reader))


def _write_report(report: Report, packing: Packing) -> list[bytes]:
    return [_REPORT.pack(report.loss, report.accuracy, report.rows)]


def _read_report(reader: Reader) -> Report:
    loss, accuracy, rows = _REPORT.unpack(reader.take(_REPORT.size))
    if not (math.isfinite(loss) and 0 <= accuracy <= 1):
        raise FrameError("a report makes no sense; has the training run away?")
    return Report(loss, accuracy, rows)


def _write_work_and_logits(both: WorkAndLogits, packing: Packing) -> list[bytes]:
    return [*_write_work(both.work, packing), *_write_logits(both.logits, packing)]


def _write_embedding_and_gradient(both: EmbeddingAndGradient, packing: Packing) -> list[bytes]:
    return [*_write_embedding(both.embedding, packing), *_write_gradient(both.gradient, packing)]


def _flag(reader: Reader) -> bool:
    (value,) = reader.unpack(_FLAG)
    if value > 1:
        raise FrameError("a yes or no is neither")
    return value == 1


CODECS: dict[type, tuple[Writer, Callable[[Reader], Any]]] = {
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
