"""The reader's shell: one for a page, so that what a line sets or starts is there for the next."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 300
SERVES = re.compile(r"^privee (?:party serve|gateway serve|gateway demo|federation start)\b")
READY_FILE = re.compile(r"^privee (?:party|gateway) serve\b")
READY = "Ctrl-C"  # the last that `privee gateway demo` says


class Shell:
    """Bash in a folder. What serves goes on beside it, until another takes its place or the page ends."""

    def __init__(self, folder: Path, path: Path) -> None:
        self._folder, self._work = folder, folder / ".reader"
        self._work.mkdir()
        search = os.pathsep.join([str(path), str(Path(sys.executable).parent), os.environ["PATH"]])
        self._env = os.environ | {"PATH": search, "NO_COLOR": "1", "COLUMNS": "104", "LC_ALL": "C.UTF-8"}
        self._bash = self._start(["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE)
        self._services: dict[str, subprocess.Popen] = {}
        self._count = 0

    def run(self, command: str) -> str:
        """What it prints. It must end well, or be ready."""
        self._count += 1
        if SERVES.match(command):
            return self._serve(command)
        code, printed = self._in_bash(command)
        assert code == 0, f"exit code {code}: {command}\n{printed}"
        refused = re.search(r'^\{"error".*', printed, re.MULTILINE)
        assert not refused, f"{command}\n{printed}"
        return printed

    def stop_services(self) -> None:
        for service in self._services.values():
            self._stop(service)
        self._services.clear()

    def close(self) -> None:
        self.stop_services()
        self._bash.stdin.close()
        self._stop(self._bash)

    def _in_bash(self, command: str) -> tuple[int, str]:
        script, out, code = (self._work / f"{self._count}.{kind}" for kind in ("sh", "out", "code"))
        script.write_text(command + "\n")
        line = f'. "{script}" > "{out}" 2>&1 < /dev/null; echo $? > "{code}.part"; mv "{code}.part" "{code}"\n'
        self._bash.stdin.write(line.encode())
        self._bash.stdin.flush()
        self._wait(code.exists, lambda: f"no end: {command}\n{out.read_text()}")
        return int(code.read_text()), out.read_text(encoding="utf-8", errors="replace")

    def _serve(self, command: str) -> str:
        ready, log = self._work / f"{self._count}.ready", self._work / f"{self._count}.log"
        command = re.sub(r"\s*(?:&|  #.*)?\s*$", "", command)
        told = f" --ready-file {ready}" if READY_FILE.match(command) else ""
        place = (re.search(r"--listen (\S+)", command) or re.match(r"privee (\w+)", command))[1]
        if place in self._services:
            self._stop(self._services[place])
        _, state = self._in_bash("export -p; umask -p; pwd")
        with log.open("wb") as output:
            script = f"{state.rsplit(chr(10), 2)[0]}\nexec {command}{told}"
            service = self._start(["bash", "-c", script], stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        self._services[place] = service

        def is_ready() -> bool:
            assert service.poll() is None, f"it ended: {command}\n{log.read_text()}"
            return ready.exists() if told else READY in log.read_text()

        self._wait(is_ready, lambda: f"never ready: {command}\n{log.read_text()}")
        return log.read_text()

    def _start(self, command: list[str], **files) -> subprocess.Popen:
        return subprocess.Popen(command, cwd=self._folder, env=self._env, start_new_session=True, **files)  # noqa: S603

    def _wait(self, done, words) -> None:
        end = time.monotonic() + SECONDS
        while not done():
            assert time.monotonic() < end, words()
            time.sleep(0.02)

    def _stop(self, service: subprocess.Popen) -> None:
        """By its own id; whatever it started in its session ends too."""
        for which in (signal.SIGINT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(service.pid, which)
            with contextlib.suppress(subprocess.TimeoutExpired):
                service.wait(20)
                return
