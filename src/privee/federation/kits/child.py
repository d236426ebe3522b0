"""Processes of NVFlare's that we start, and stop again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

STOP_SECONDS = 20.0


class Child:
    """A process with a log file; stopped by its own id."""

    def __init__(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 (our own command line)
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | dict(env or {}),
                start_new_session=True,  # Ctrl-C is ours to pass on
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, if it has ended."""
        return self._process.poll()

    def send(self, which: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(which)

    def wait(self, seconds: float) -> int | None:
        """Wait for its end; None if it goes on."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, first: signal.Signals = signal.SIGTERM, seconds: float = STOP_SECONDS) -> None:
        """Ask it to stop, and insist after a while."""
        self.send(first)
        if self.wait(seconds) is None:
            self.kill()

    def kill(self) -> None:
        """End it and the processes it started at once, as a crash of the machine would."""
        import psutil  # type: ignore[import-untyped]

        with contextlib.suppress(psutil.NoSuchProcess):
            for process in (*psutil.Process(self.pid).children(recursive=True), psutil.Process(self.pid)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait()
