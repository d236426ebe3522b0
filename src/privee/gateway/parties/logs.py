"""Structured logs: one JSON object per line on standard error. Counts, times and roles; never ids or values."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

LOGGER = logging.getLogger("privee.party")


class JsonLines(logging.Formatter):
    """A record's event and fields; of other packages' records the logger's name alone: their words may hold data."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        fields: dict[str, Any] = getattr(record, "fields", {})
        event = record.msg if record.name == LOGGER.name else f"message from {record.name}"
        if record.exc_info and record.exc_info[0]:
            fields = fields | {"error": record.exc_info[0].__name__}
        return json.dumps({"time": stamp, "level": record.levelname.lower(), "event": event} | fields)


def log_event(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Write one line; fields are plain values."""
    LOGGER.log(level, event, extra={"fields": fields})


def log_to_stderr() -> None:
    """Send this process's logs to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    LOGGER.setLevel(logging.INFO)
    logging.captureWarnings(True)
