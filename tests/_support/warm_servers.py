"""Parties and gateways of the tests begin in forks of the warm process, like commands."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO
from unittest import mock

from privee import processes
from tests._support.commands import WarmProcess


def begin(
    command: Sequence[str],
    *,
    stdin: int,
    stdout: IO[bytes],
    stderr: IO[bytes],
    env: Mapping[str, str],
    start_new_session: bool,
    pass_fds: Sequence[int],
):
    """In place of `subprocess.Popen`, as servers are started; anything else starts as it always does."""
    if command[:3] != [sys.executable, "-m", "privee"] or start_new_session or pass_fds:
        return subprocess.Popen(  # noqa: S603 - our own command lines
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=env,
            start_new_session=start_new_session,
            pass_fds=pass_fds,
        )
    assert stdin == subprocess.DEVNULL
    return WarmProcess(command[3:], Path.cwd(), env, stdout, stderr)


@contextlib.contextmanager
def warm_servers() -> Iterator[None]:
    instead = SimpleNamespace(Popen=begin, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired)
    with mock.patch.object(processes, "subprocess", instead):
        yield


@contextlib.contextmanager
def cold_servers() -> Iterator[None]:
    """As users start them: for what a library reads from its environment while it is loaded."""
    with mock.patch.object(processes, "subprocess", subprocess):
        yield
