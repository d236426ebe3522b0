"""A tree of this project in processes of its own: its parties, its ledgers and keys, its gateways."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil

from privee.gateway.demo import PARTIES, World
from privee.processes import ServerProcess

HERE = Path(__file__).parents[2]
SECONDS = 600.0  # a busy machine takes long to start eight processes
PROTECTED = ("--defense", "privee-u:rho=0.1", "--releases", "1000000000")


@dataclasses.dataclass(frozen=True)
class Gateway:
    """One that listens, with a key for it."""

    url: str
    key: str
    process: psutil.Process

    def cpu(self) -> float:
        """Seconds of processor time so far, its workers' too."""
        return sum(sum(one.cpu_times()[:2]) for one in (self.process, *self.process.children(recursive=True)))


@dataclasses.dataclass(frozen=True)
class Tree:
    """The sources at some revision, and a folder for what they write."""

    sources: Path
    folder: Path

    @property
    def env(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.sources / "src"), "OMP_NUM_THREADS": "1"}

    def run(self, *arguments: str) -> str:
        """A command of this tree's own."""
        command = [sys.executable, "-m", "privee", *arguments]
        done = subprocess.run(command, env=os.environ | self.env, capture_output=True, text=True)  # noqa: S603, PLW1510
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments[:2])}: {done.stderr[-500:]}")
        return done.stdout

    def parties(self, stack: ExitStack, world: World) -> dict[str, str]:
        """Where this tree's parties listen."""
        started = {name: self._party(world, name) for name in PARTIES}
        for process in started.values():
            stack.enter_context(process)
        return {name: process.wait_ready(SECONDS).address for name, process in started.items()}

    def gateway(
        self, stack: ExitStack, world: World, parties: Mapping[str, str], name: str, url: str, more: Sequence[str] = ()
    ) -> Gateway:
        """A gateway with a new ledger of its own."""
        key = str(self.folder / f"{name}.key")
        ledger = ("--ledger", url, "--ledger-key", key)
        self.run("ledger", "init", "--url", url, "--key", key)
        made = self.run(
            *("keys", "create", "load", "--role", "consumer", "--scope", "*", "--rate", "100000000/minute"),
            *("--quota-releases", "none", "--url", url, "--key", key, "--json"),
        )
        asked = [word for party, address in parties.items() for word in ("--party", f"{party}={address}")]
        given = [*asked, *ledger, "--certs", str(world.certs), "--port", "0", *PROTECTED, *more]
        process = self._server(["gateway", "serve", str(world.run), *given], name)
        stack.enter_context(process)
        return Gateway(process.wait_ready(SECONDS).address, json.loads(made)["key"], psutil.Process(process.pid))

    def _party(self, world: World, name: str) -> ServerProcess:
        folder = str(world.run / "parties" / name)
        given = ["--data", "dataset", "--listen", "127.0.0.1:0", "--certs", str(world.certs / name)]
        return self._server(["party", "serve", folder, *given], name)

    def _server(self, arguments: Sequence[str], name: str) -> ServerProcess:
        return ServerProcess(arguments, self.folder / f"{name}.ready", self.folder / f"{name}.log", env=self.env)


def this_tree(folder: Path) -> Tree:
    """The sources that this file is part of, as they are on disk."""
    folder.mkdir(parents=True)
    return Tree(HERE, folder)


def tree_of(revision: str, folder: Path) -> Tree:
    """The sources at a revision, unpacked from git."""
    sources = folder / "sources"
    sources.mkdir(parents=True)
    packed = subprocess.run(  # noqa: S603
        ["git", "archive", "--format=tar", revision, "src"],  # noqa: S607
        cwd=HERE,
        check=True,
        capture_output=True,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(sources, filter="data")
    return Tree(sources, folder)


def commit_of(revision: str) -> str:
    """A revision's short name, and its first line."""
    return subprocess.run(  # noqa: S603
        ["git", "log", "-1", "--format=%h %s", revision],  # noqa: S607
        cwd=HERE,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
