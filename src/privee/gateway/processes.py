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
        self._name = f"the {arguments[0]}"
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
    def address(self) -> str:
        """Where it listens."""
        return str(self.ready.get("url") or self.ready["address"])

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait_ready(self, seconds: float = START_SECONDS) -> ServerProcess:
        """Wait until it listens; its last words if it ends instead."""
        end = time.monotonic() + seconds
        while not self._ready_file.exists():
            if not self.running:
                raise PriveeError(f"{self._name} did not start: {self.last_words()}")
            if time.monotonic() > end:
                self.kill()
                raise PriveeError(f"{self._name} was not ready after {seconds:g} s; see {self._log}")
            time.sleep(0.02)
        self.ready = json.loads(self._ready_file.read_text(encoding="utf-8"))
        return self

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self._log.read_text(encoding="utf-8", errors="replace")[-LAST_WORDS:].strip().splitlines()
        return lines[-1].removeprefix("privee: ") if lines else "it said nothing"

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

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_party(
    folder: Path, data: Sequence[str], certs: Path | None, log: Path, *, listen: str = "127.0.0.1:0"
) -> ServerProcess:
    """A party in a process of its own, not waited for yet.

    Args:
        folder: the party's folder in a run.
        data: what it serves from, as on the command line: `["--data", "bank.csv"]`.
        certs: its own folder of certificates; None without TLS.
        log: file for what it says.
        listen: where; port 0 picks a free one.
    """
    shown = [] if certs is None else ["--certs", str(certs)]
    arguments = ["party", "serve", str(folder), *data, "--listen", listen, *shown]
    return ServerProcess(arguments, log.with_suffix(".ready"), log)
