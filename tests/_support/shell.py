"""Commands run as a reader types them, with services that go on until the end."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 400


def free_ports(count: int = 4) -> int:
    """The first of so many that nobody listens on."""
    for first in range(20_000 + os.getpid() % 20_000, 60_000, count):
        taken = []
        for port in range(first, first + count):
            with socket.socket() as probe:
                taken.append(probe.connect_ex(("127.0.0.1", port)) == 0)
        if not any(taken):
            return first
    raise AssertionError("no free ports")


class Shell:
    """Runs the page's lines as a reader does; the service goes on until the end."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._running = folder, []
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._env = os.environ | {"PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}

    def run(self, line: str) -> str:
        if line.endswith("start.sh"):
            with (self._folder / "servers.log").open("wb") as log:
                self._running.append(self._popen(line, log))
            return ""
        process = self._popen(line, subprocess.PIPE)
        said, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, f"{line}\n{said.decode()}"
        return said.decode()

    def _popen(self, line: str, out: object) -> subprocess.Popen:
        command = ["/bin/sh", "-c", f"exec {line}"]
        return subprocess.Popen(command, cwd=self._folder, env=self._env, stdout=out, stderr=subprocess.STDOUT)  # noqa: S603

    def stop(self) -> None:
        for process in self._running:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def wait_for(file: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not file.exists():
        assert time.monotonic() < end, (file.parents[2] / "servers.log").read_text()
        time.sleep(0.1)
