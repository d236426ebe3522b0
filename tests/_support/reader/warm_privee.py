"""`privee` for a shell, from the warm process of `tests._support.commands`: a line to it that any program can take.

PyTorch takes seconds to load, and pages have more than a hundred commands. `SCRIPT` is the command in the shell's path;
it hands its files over to this process, which hands them on.
"""

import contextlib
import os
import socket
import sys
import threading
from pathlib import Path

from tests._support.commands import warm

SCRIPT = """#!{python} -IS
import json, os, signal, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect({address!r})
told, tell = os.pipe()
request = dict(arguments=sys.argv[1:], folder=os.getcwd(), environment=dict(os.environ))
socket.send_fds(line, [json.dumps(request).encode()], [0, 1, 2, tell])
os.close(tell)
answers = os.fdopen(told)
process = int(answers.readline())
for which in (signal.SIGTERM, signal.SIGINT):
    signal.signal(which, lambda number, frame: os.kill(process, number))
sys.exit(int(answers.read()) & 255)
"""


@contextlib.contextmanager
def warm_privee(folder: Path):
    """A folder for the path with `privee` in it."""
    folder.mkdir(parents=True)
    address = folder / "line"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(address))
        listener.listen()
        threading.Thread(target=_relay, args=(listener, warm()), daemon=True).start()
        script = folder / "privee"
        script.write_text(SCRIPT.format(python=sys.executable, address=str(address)))
        script.chmod(0o755)
        yield folder
        listener.shutdown(socket.SHUT_RDWR)


def _relay(listener: socket.socket, to: socket.socket) -> None:
    while True:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        with line:
            data, files, _, _ = socket.recv_fds(line, 1 << 20, 4)
            socket.send_fds(to, [data], files)
            for file in files:
                os.close(file)
