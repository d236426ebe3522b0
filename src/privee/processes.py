"""Child processes: started with a log, waited for, stopped in order; servers also until they are ready."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from privee.errors import PriveeError

START_SECONDS = 90.0
STOP_SECONDS = 20.0
LAST_WORDS = 2000


class ChildProcess:
    """A process that we started, and stop by its own id.

    Args:
        command: what to run.
        log: file for what it says, appended to; None where it speaks to our own terminal.
        env: variables beside our own.
        own_session: whether it has a session of its own, so that Ctrl-C is ours to pass on; what it starts ends too.
        pass_fds: open files that it keeps open, such as a lock.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path | None,
        env: Mapping[str, str] | None = None,
        *,
        own_session: bool = True,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._own_session = own_session
        with contextlib.ExitStack() as stack:
            output = None
            if log is not None:
                log.parent.mkdir(parents=True, exist_ok=True)
                output = stack.enter_context(log.open("ab"))
            self._process = subprocess.Popen(  # noqa: S603 (our own command lines)
                list(command),
                stdin=None if output is None else subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | dict(env or {}),
                start_new_session=own_session,
                pass_fds=pass_fds,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, if it has ended."""
        return self._process.poll()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.code is None

    def send(self, which: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(which)

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for its end and return its exit code; None if it goes on after so long."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, first: signal.Signals = signal.SIGTERM, seconds: float = STOP_SECONDS) -> int:
        """Ask it to stop, insist after a while, and return its exit code."""
        self.send(signal.SIGCONT)  # a paused process hears nothing else
        self.send(first)
        code = self.wait(seconds)
        return self.kill() if code is None else code

    def kill(self) -> int:
        """End it at once, as a crash would; with a session of its own also what it started, as a lost machine would."""
        if self._own_session:
            return self.end_tree()
        self.send(signal.SIGKILL)
        return self._process.wait()

    def end_tree(self, seconds: float = 0.0) -> int:
        """End it and all processes it started: asked first where they are given time, and killed after that."""
        import psutil  # type: ignore[import-untyped]

        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.pid)
            left = [*own.children(recursive=True), own]
            if seconds:
                for process in left:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.terminate()
                left = psutil.wait_procs(left, timeout=seconds)[1]
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        return self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class ServerProcess(ChildProcess):
    """`privee ARGUMENTS` running on its own; `ready` is what it wrote once it listened."""

    def __init__(
        self, arguments: Sequence[str], ready_file: Path, log: Path, *, env: Mapping[str, str] | None = None
    ) -> None:
        self.ready: dict[str, Any] = {}
        self._name = f"the {arguments[0]}"
        self._ready_file, self._log = ready_file, log
        ready_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "privee", *arguments, "--ready-file", str(ready_file)]
        super().__init__(command, log, {"OMP_NUM_THREADS": "1", **(env or {})}, own_session=False)

    @property
    def address(self) -> str:
        """Where the server listens."""
        return str(self.ready.get("url") or self.ready["address"])

    def wait_ready(self, seconds: float = START_SECONDS) -> Self:
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
