"""Run a kit until it is told to stop.

NVFlare's processes do not end by Ctrl-C: they print a trace and stay. And a site's process that ends leaves those of
its jobs behind. So the kit's process is a child of ours, and it is ended with all it has started.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
from pathlib import Path
from typing import IO, Any

from privee.errors import PriveeError
from privee.federation.kits import own_settings, prepare_kit, start_command

STOP_SECONDS = 5.0


def serve_kit(kit: Path) -> int:
    """Run the server or a site until it ends, or until Ctrl-C, SIGTERM or a closed terminal; returns the exit code."""
    if prepare_kit(kit) == "site":
        own_settings(kit)  # a mistake in them is better said here than in a job
    command, env = start_command(kit)
    lock = _locked(kit)
    for which in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, _interrupt)
    process = subprocess.Popen(  # noqa: S603 (NVFlare's own script, from the kit)
        command, env=os.environ | env, start_new_session=True, pass_fds=[lock.fileno()]
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        _end_all(process)
        return 0


def _locked(kit: Path) -> IO[bytes]:
    """Two processes of one kit would take turns at being the site. The child holds the lock too: we may be killed."""
    file = (kit / "running.lock").open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise PriveeError(f"{kit} runs already on this machine; stop that first") from None
    return file


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and those it started to end, and insist after a while."""
    import psutil  # type: ignore[import-untyped]

    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, signal.SIG_IGN)  # the second Ctrl-C comes too late to matter
    with contextlib.suppress(psutil.NoSuchProcess):
        own = psutil.Process(process.pid)
        everybody = [*own.children(recursive=True), own]
        for one in everybody:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.terminate()
        for left in psutil.wait_procs(everybody, timeout=STOP_SECONDS)[1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()
    process.wait()
