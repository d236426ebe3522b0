"""Parties as child processes, for demonstrations and tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from privee.errors import PriveeError

Process = subprocess.Popen[bytes]


@dataclass
class PartyProcess:
    """A party that serves in a process of its own."""

    address: str
    pid: int
    _process: Process = field(repr=False)

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, such as SIGSTOP and SIGCONT."""
        self._process.send_signal(number)

    def stop(self, grace: float = 10.0) -> int:
        """Let it finish what it does; after `grace` seconds end it. Returns its exit code."""
        self._process.terminate()
        try:
            return self._process.wait(grace)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End it at once."""
        self._process.kill()
        return self._process.wait()

    def __enter__(self) -> PartyProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_party(
    folder: Path,
    data_args: Sequence[str],
    certs: Path | None,
    log: Path,
    *,
    listen: str = "127.0.0.1:0",
    within: float = 120.0,
) -> PartyProcess:
    """Start `privee party serve` and wait until it is ready.

    Args:
        folder: The party's folder in a run.
        data_args: What it serves from, as on the command line: `["--data", "bank.csv"]`.
        certs: Its folder of certificates; None without TLS.
        log: File for its standard error.
        listen: Where it listens; port 0 picks a free one.
        within: Seconds to wait.
    """
    ready = log.with_name(f"{log.name}.ready")
    ready.unlink(missing_ok=True)
    command = [sys.executable, "-m", "privee", "party", "serve", str(folder), *data_args]
    command += ["--listen", listen, "--ready-file", str(ready), *(["--certs", str(certs)] if certs else [])]
    with log.open("ab") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)  # noqa: S603
    try:
        address = _wait(process, ready, log, time.monotonic() + within)
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        ready.unlink(missing_ok=True)
    return PartyProcess(address, process.pid, process)


def _wait(process: Process, ready: Path, log: Path, until: float) -> str:
    while not ready.exists():
        if process.poll() is not None:
            raise PriveeError(f"the party did not start: {_last_line(log)}")
        if time.monotonic() > until:
            raise PriveeError(f"the party was not ready in time; see {log}")
        time.sleep(0.02)
    return str(json.loads(ready.read_text(encoding="utf-8"))["address"])


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].removeprefix("privee: ") if lines else f"it wrote nothing to {os.fspath(log)}"
