"""A process that has loaded what takes long to load, and forks for each command: the command begins at once.

Run by `tests._support.commands`, with the number of a socket. A request is one message of JSON with four files: where
the command reads, writes, complains, and where its process id and exit status are told. Nothing of privee is loaded
before the fork, so that a command imports privee as it does in a process that is new; nor is gRPC, for which privee
sets the environment before it is loaded.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import traceback

LARGE = (
    "numpy",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "cryptography.hazmat.primitives.ciphers.aead",
    "cryptography.x509",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.parquet",
    "pydantic.type_adapter",
    "typer",
    "rich.console",
    "rich.markdown",
    "rich.progress",
    "rich.table",
    "torch._dynamo",
    "safetensors.torch",
    "sklearn.datasets",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "joblib",
    "private_set_intersection.python",
    "matplotlib.figure",
    "matplotlib.backends.backend_svg",
    "fastapi",
    "uvicorn",
    "uvloop",
    "httptools",
    "sqlalchemy",
    "alembic.command",
    "psycopg",
    "limits",
    "prometheus_client",
    "jinja2",
)


def serve(requests: socket.socket) -> list[str] | None:
    """Until nobody asks any more; in a command's own process, its arguments."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, files, _, _ = socket.recv_fds(requests, 1 << 20, 4)
        if not data:
            return None
        if os.fork() == 0:
            requests.close()
            return _watched(json.loads(data), *files)
        for file in files:
            os.close(file)


def _watched(request: dict, given: int, out: int, err: int, told: int) -> list[str]:
    """Fork again: one process waits for the other's end and tells it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command:
        for file in (given, out, err):
            os.close(file)
        os.write(told, f"{command}\n".encode())
        _, status = os.waitpid(command, 0)
        with contextlib.suppress(BrokenPipeError):
            os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    for place, file in enumerate((given, out, err)):
        os.dup2(file, place)
    for file in (given, out, err, told):
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.path.insert(0, request["folder"])
    return request["arguments"]


def end(code: object) -> None:
    """As Python ends, but for taking down what was loaded before the fork, which would copy all of it."""
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    for name in LARGE:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    gc.freeze()
    arguments = serve(socket.socket(fileno=int(sys.argv[1])))
    if arguments is not None:
        sys.argv = ["privee", *arguments]
        try:
            runpy.run_module("privee", run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            end(ended.code)
        except BaseException:
            traceback.print_exc()
            end(1)
        end(None)
