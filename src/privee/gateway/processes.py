"""Servers as child processes: started, waited for until they are ready, and stopped."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privee.errors import PriveeError

START_SECONDS = 90.0
STOP_SECONDS = 15.0
LAST_WORDS = 2000


class ServerProcess:
    """`privee ARGUMENTS` running on its own; `ready` is what it wrote once it listened."""

    def __init__(self, arguments: Sequence[str], ready_file: Path, log: Path) -> None:
        self.ready: dict[str, Any] = {}
        self._ready_file, self._log = ready_file, log
        ready_file.unlink(missing_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 (our own command line)
                [sys.executable, "-m", "privee", *arguments, "--ready-file", str(ready_file)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def wait_ready(self, seconds: float = START_SECONDS) -> ServerProcess:
        """Wait until it listens; its last words if it ends instead."""
        end = time.monotonic() + seconds
        while not self._ready_file.exists():
            if not self.alive:
                raise PriveeError(f"a server did not start: {self.last_words()}")
            if time.monotonic() > end:
                self.kill()
                raise PriveeError(f"a server was not ready after {seconds:g} s: {self.last_words()}")
            time.sleep(0.02)
        self.ready = json.loads(self._ready_file.read_text(encoding="utf-8"))
        return self

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self._log.read_text(encoding="utf-8", errors="replace")[-LAST_WORDS:].strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def wait(self, seconds: float) -> int:
        """Wait for its end."""
        return self._process.wait(seconds)

    def send(self, which: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(which)

    def stop(self) -> int:
        """Ask it to stop, insist after a while, and return its exit code."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End it at once, as a crash would."""
        self.send(signal.SIGKILL)
        return self._process.wait()
