"""How far a job is, for those who follow it: in memory for the admin's questions, and in a small file."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from privee.federation.errors import SiteLostError
from privee.vfl.runs import write_json

EVERY = 0.5


class Board:
    """Phase, epoch and step; at the end the outcome, or why there is none."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, threading.Lock()
        self._state: dict[str, Any] = {"phase": "starting", "done": 0, "size": 0}
        self._written = 0.0

    def phase(self, name: str) -> None:
        """Something else is done now."""
        self._put(phase=name)

    def step(self, epoch: int, epochs: int, step: int, steps: int) -> None:
        """A training step is done; the file follows at most twice a second."""
        self._state |= {"done": (epoch - 1) * steps + step, "size": epochs * steps, "epoch": epoch}
        if time.monotonic() - self._written > EVERY:
            self._put()

    def outcome(self, outcome: dict[str, Any]) -> None:
        """It is finished."""
        self._put(phase="finished", outcome=outcome)

    def failure(self, error: Exception) -> None:
        """It failed; `lost` names a site that may come back."""
        self._put(phase="failed", error=str(error), lost=error.site if isinstance(error, SiteLostError) else None)

    def read(self) -> dict[str, Any]:
        """All of it."""
        return dict(self._state)

    def _put(self, **more: Any) -> None:
        with self._lock:
            self._state |= more
            write_json(self._file, self._state)
            self._written = time.monotonic()
