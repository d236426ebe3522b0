"""Real processes whose clock is moved with libfaketime: while they run, and between one run and the next."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.ledger import Ledger, Limits
from privee.gateway.ledger.quotas import Quotas
from tests._support.ledger_cases import KEY

FOUND = sorted(Path("/usr").glob("lib*/**/faketime/libfaketimeMT.so.1"))
pytestmark = pytest.mark.skipif(not FOUND, reason="needs libfaketime: apt-get install faketime")
HOUR, DAY = 3600, 86_400

SCRIPT = """
import sys, time
from uuid import uuid4
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.budget.releases import Releases
from privee.gateway.ledger.ledger import *
with Ledger.open(sys.argv[1], b"k" * 32, limits=Limits((Releases(1),), window=3600)) as ledger:
    keys = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
    for line in sys.stdin:
        what, given = line.split()
        if what == "wall":
            print(int(time.time()), flush=True)
        elif what == "find":
            print("valid" if keys.find(given) else "gone", flush=True)
        else:
            try:
                ledger.charge(ChargeRequest([what], Price(), given, uuid4().hex))
                print("released", flush=True)
            except RefusedError as refused:
                print(refused.code, flush=True)
"""


class Gateway:
    """A process with a clock of its own, off by some seconds."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.offset = url, folder / "offset"

    def run(self, offset: int) -> "Gateway":
        self.move(offset)
        moved = {"LD_PRELOAD": str(FOUND[-1]), "FAKETIME_TIMESTAMP_FILE": str(self.offset), "FAKETIME_NO_CACHE": "1"}
        moved |= {"DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}  # as when somebody sets the computer's clock
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, "-c", SCRIPT, self.url], env=os.environ | moved, **pipes)  # noqa: S603
        assert abs(int(self.ask("wall", "-")) - time.time() - offset) < 30  # the clock is really moved
        return self

    def move(self, offset: int) -> None:
        self.offset.write_text(f"{offset:+d}\n")

    def ask(self, what: str, given: str = "-") -> str:
        self.process.stdin.write(f"{what} {given}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __enter__(self) -> "Gateway":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture
def gateway(url, tmp_path):
    return Gateway(url, tmp_path)


def made(url: str, expires_in: int | None = None, **quotas):
    with Ledger.open(url, KEY, limits=Limits()) as ledger:
        keys = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
        return keys.create("n", "consumer", ["*"], actor="me", expires_in=expires_in, quotas=Quotas.parse(**quotas))


def test_a_clock_moved_while_it_runs_or_set_back_between_runs_frees_nothing(url, gateway):
    key, brief = made(url, releases="1/hour"), made(url, expires_in=DAY)

    def nothing_is_free(running: Gateway) -> None:
        assert running.ask("a") == "ledger"
        assert running.ask("c", key.record.id) == "quota"
        assert running.ask("find", brief.text) == "gone"
        assert running.ask("find", key.text) == "valid"

    with gateway.run(10 * DAY) as running:
        assert running.ask("a") == "released"
        assert running.ask("b", key.record.id) == "released"
        for offset in (40 * DAY, -30 * DAY, 0):
            running.move(offset)
            assert abs(int(running.ask("wall")) - time.time() - offset) < 30
            nothing_is_free(running)
    with gateway.run(0) as running:
        nothing_is_free(running)
    with gateway.run(10 * DAY + HOUR + 600) as running:  # time that really passed counts
        assert running.ask("a") == "released"
        assert running.ask("c", key.record.id) == "released"


def test_a_key_that_expired_while_nobody_asked_is_not_revived(sqlite_url, tmp_path):
    """The mark keeps the time of every start and end, so this needs no release."""
    brief, gateway = made(sqlite_url, expires_in=DAY), Gateway(sqlite_url, tmp_path)
    with gateway.run(2 * DAY) as running:
        assert running.ask("find", brief.text) == "gone"
    with gateway.run(0) as running:
        assert running.ask("find", brief.text) == "gone"
