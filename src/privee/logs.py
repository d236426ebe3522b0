"""Structured logs of gateway and parties: one JSON object per line. Counts and times, never scores, features or ids.

What a process holds in memory stays there too: no core dumps.
"""

from __future__ import annotations

import ctypes
import json
import logging
import sys
import time
import traceback
from types import TracebackType
from typing import Any

PR_SET_DUMPABLE = 4

logger = logging.getLogger("privee.gateway")
_ENCODER = json.JSONEncoder(default=str)


class JsonLines(logging.Formatter):
    """A record's event and fields; of other packages' records the logger's name alone: their words may hold data."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; of an exception its type and where it came from, because its words may quote data."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        event = record.msg if record.name == logger.name else f"message from {record.name}"
        entry: dict[str, Any] = {"time": stamp, "level": record.levelname.lower(), "event": event}
        entry |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0]:
            entry |= {"exception": record.exc_info[0].__name__, "where": _where(record.exc_info[2])}
        return _ENCODER.encode(entry)


def start_logging(level: int = logging.INFO) -> None:
    """Send this process's logs to standard error, and its memory nowhere; the servers' own access logs stay silent."""
    _no_core_dumps()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # not written, so not asked for
    logger.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = True


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Write one event; fields are plain values. Of an error its type and place go along, never its words."""
    if error is not None:
        fields |= {"exception": type(error).__name__, "where": _where(error.__traceback__)}
    if logger.isEnabledFor(level):
        # Made here: where in our code the line comes from is not written, and looking for it takes long.
        record = logging.LogRecord(logger.name, level, "", 0, event, None, None)
        record.fields = fields
        logger.handle(record)


def _no_core_dumps() -> None:
    """Keys, ids and scores are in memory. A limit of 0 stops dumps to files, not being dumpable those to programs."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def _where(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in traceback.extract_tb(trace)[-6:]]
