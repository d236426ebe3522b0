"""`privee` as a user runs it: in a process of its own.

`start` is Python's own start. All else takes a process that is forked from a warm one, which saves the seconds that
PyTorch, Arrow and the web server take to load, for each of hundreds of commands and dozens of servers.
"""

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

CLEAN = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
SECONDS = 300


def environment() -> dict[str, str]:
    return CLEAN | {"COLUMNS": "120", "NO_COLOR": "1"}


def start(*arguments: object, cwd: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "privee", *map(str, arguments)]
    return subprocess.Popen(command, cwd=cwd, env=environment(), stdout=-1, stderr=-1, text=True)  # noqa: S603


def run(*arguments: object, cwd: Path) -> tuple[int, str, str]:
    with TemporaryFile() as out, TemporaryFile() as err:
        process = WarmProcess([*map(str, arguments)], cwd, environment(), out, err)
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            raise
        out.seek(0)
        err.seek(0)
        return code, out.read().decode(), err.read().decode()


def good(*arguments: object, cwd: Path) -> str:
    code, out, err = run(*arguments, cwd=cwd)
    assert code == 0, err
    return out


class WarmProcess:
    """`privee ARGUMENTS`, forked from the warm process; the part of `subprocess.Popen` that the tests need."""

    def __init__(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], out: IO[bytes], err: IO[bytes]
    ) -> None:
        request = {"arguments": list(arguments), "folder": str(cwd), "environment": dict(environment)}
        self._told, told = os.pipe()
        self._words, self.returncode = b"", None
        with open(os.devnull) as nothing:
            files = [nothing.fileno(), out.fileno(), err.fileno(), told]
            socket.send_fds(warm(), [json.dumps(request).encode()], files)
        os.close(told)
        while not self._words.endswith(b"\n"):
            self._words += os.read(self._told, 1)
        self.pid = int(self._words)
        os.set_blocking(self._told, False)

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                words = os.read(self._told, 100)
            except BlockingIOError:
                return None
            os.close(self._told)
            self.returncode = int(words)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = time.monotonic() + (SECONDS if timeout is None else timeout)
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("privee", timeout or SECONDS)
            time.sleep(0.005)
        return code

    def send_signal(self, which: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, which)


@functools.cache
def warm() -> socket.socket:
    """The line to a warm process, started once; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = Path(__file__).with_name("warm.py")
    command = [sys.executable, "-P", str(script), str(theirs.fileno())]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=CLEAN, stdout=subprocess.DEVNULL)  # noqa: S603
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(30)

    atexit.register(end)
    return ours
