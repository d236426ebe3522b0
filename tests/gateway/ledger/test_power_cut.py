"""A power cut: only what was synced to disk is left. Every receipt that was given is in it.

The calls of a real process are recorded with strace and played back onto files that forget what was not synced.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from privee.gateway.ledger.ledger import Ledger, Limits
from tests._support.ledger_cases import KEY, releases

RECEIPTS = 6
CHARGING = f"""
import os, sys
from uuid import uuid4
from privee.durable import losses
from privee.gateway.ledger.ledger import *
receipts = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
with Ledger.open(sys.argv[1], b"k" * 32, limits=Limits()) as ledger:
    for number in range({RECEIPTS}):
        losses.CHECKPOINT_SECONDS = 0.0 if number == 3 else 100.0
        ledger.charge(ChargeRequest(["a", f"b{{number}}"], Price(), "key", uuid4().hex))
        os.write(receipts, b"x")
"""
CALL = re.compile(rb'\d+ +(\w+)\(\d+<([^>]*)>(?:, "([^"]*)", \d+, (\d+)|, "[^"]*", \d+|, (\d+))?\) += \d+')


def recorded(url: str, folder: Path) -> list[tuple]:
    """What the process did with its files, in order: call, file's name, bytes, place or size."""
    files = [folder / name for name in ("l.db", "l.db-wal", "l.db-mark", "receipts")]
    options = ["-f", "-y", "-xx", "-s", "70000", "-o", str(folder / "calls")]
    options += ["-e", "trace=write,pwrite64,pwritev,writev,ftruncate,fsync,fdatasync"]
    options += [part for path in files for part in ("-P", str(path))]
    command = ["strace", *options, sys.executable, "-c", CHARGING, url, str(files[-1])]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)  # noqa: S603
    if done.returncode and b"ptrace" in done.stderr:
        pytest.skip("strace may not watch processes here")
    assert done.returncode == 0, done.stderr
    lines = [line for line in (folder / "calls").read_bytes().splitlines() if b"(" in line]
    return [_call(line) for line in lines]


def _call(line: bytes) -> tuple:
    found = CALL.match(line)
    assert found, line[:200]
    name, path, data, place, size = found.groups()
    return name.decode(), Path(_bytes(path).decode()).name, _bytes(data or b""), int(place or size or 0)


def _bytes(text: bytes) -> bytes:
    return bytes.fromhex(text.replace(b"\\x", b"").decode())


class Disk:
    """Files as programs see them, and as they are after the power failed."""

    def __init__(self, folder: Path) -> None:
        self.seen = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.synced = dict(self.seen)

    def play(self, name: str, file: str, data: bytes, place: int) -> None:
        content = self.seen.get(file, b"")
        if name == "pwrite64":
            self.seen[file] = content[:place].ljust(place, b"\0") + data + content[place + len(data) :]
        elif name == "ftruncate":
            self.seen[file] = content[:place].ljust(place, b"\0")
        elif name in {"fsync", "fdatasync"}:
            self.synced[file] = content
        else:
            assert file == "receipts", name


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace")
def test_every_receipt_survives_a_power_cut(sqlite_url, tmp_path, open_ledger):
    Ledger.open(sqlite_url, KEY, limits=Limits()).close()
    disk, given, kinds = Disk(tmp_path), 0, set()
    for name, file, data, place in recorded(sqlite_url, tmp_path):
        disk.play(name, file, data, place)
        kinds.add((name in {"fsync", "fdatasync"}, file))
        if file != "receipts":
            continue
        given += 1
        after = tmp_path / f"after{given}"
        after.mkdir()
        for left in ("l.db", "l.db-wal", "l.db-mark"):
            (after / left).write_bytes(disk.synced.get(left, b""))
        ledger = open_ledger(f"sqlite:///{after / 'l.db'}", Limits())  # so the mark is not ahead either
        assert releases(ledger, "a", f"b{given - 1}") == [given, 1]
    assert given == RECEIPTS
    assert {(True, "l.db"), (True, "l.db-wal"), (True, "l.db-mark")} <= kinds
