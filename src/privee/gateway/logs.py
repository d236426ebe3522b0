"""Structured logs: one JSON object per line on standard error. Counts and times, never scores, features or raw ids."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from types import TracebackType
from typing import Any

logger = logging.getLogger("privee.gateway")


class JsonLines(logging.Formatter):
    """`logger.info("event", extra={"fields": {...}})` as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; of an exception its type and where it came from, because its words may quote data."""
        entry: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.msg if record.name == logger.name else _foreign(record),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            entry |= {"exception": record.exc_info[0].__name__, "where": _where(record.exc_info[2])}
        return json.dumps(entry, default=str)


def start_logging(level: int = logging.INFO) -> None:
    """Send everything through one handler; the servers' own access logs stay silent."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logger.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = True


def log(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Write one event."""
    logger.log(level, event, extra={"fields": fields})


def _foreign(record: logging.LogRecord) -> str:
    """Another library's record: its words without the values put into them."""
    return f"{record.name}: {str(record.msg)[:200]}"


def _where(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in traceback.extract_tb(trace)[-6:]]
