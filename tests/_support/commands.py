"""`privee` as a user runs it: in a process of its own.

`start` is Python's own start. `run` and `good` take a process that is forked from a warm one, which saves the second
or more that PyTorch and Arrow take to load, for each of hundreds of commands.
"""

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

CLEAN = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
SECONDS = 300


def environment() -> dict[str, str]:
    return CLEAN | {"COLUMNS": "120", "NO_COLOR": "1"}


def start(*arguments: object, cwd: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "privee", *map(str, arguments)]
    return subprocess.Popen(command, cwd=cwd, env=environment(), stdout=-1, stderr=-1, text=True)  # noqa: S603


def run(*arguments: object, cwd: Path) -> tuple[int, str, str]:
    request = {"arguments": [*map(str, arguments)], "folder": str(cwd), "environment": environment()}
    pipes = {name: os.pipe() for name in ("out", "err", "told")}
    nothing = os.open(os.devnull, os.O_RDONLY)
    ends = [nothing, *(write for _, write in pipes.values())]
    try:
        socket.send_fds(warm(), [json.dumps(request).encode()], ends)
    finally:
        for end in ends:
            os.close(end)
    files = {name: os.fdopen(read, encoding="utf-8") for name, (read, _) in pipes.items()}
    pid = int(files["told"].readline())
    alarm = threading.Timer(SECONDS, os.kill, (pid, signal.SIGKILL))
    alarm.start()
    heard: dict[str, str] = {}
    threads = [threading.Thread(target=lambda n=n, f=f: heard.update({n: f.read()})) for n, f in files.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alarm.cancel()
    for file in files.values():
        file.close()
    return int(heard["told"]), heard["out"], heard["err"]


def good(*arguments: object, cwd: Path) -> str:
    code, out, err = run(*arguments, cwd=cwd)
    assert code == 0, err
    return out


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
