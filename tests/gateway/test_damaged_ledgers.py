"""A ledger that is damaged, gone or of another key: refused at the start with advice, and no count is lost."""

import contextlib
import os
import random
import subprocess
import sys

import pytest

from privee.cli import app as cli
from privee.defenses.secret_keys import new_key
from privee.errors import PriveeError
from privee.gateway.budget.price import Price
from privee.gateway.demo import PARTIES, World
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, RefusedError
from privee.gateway.ledger.limits import Limits
from tests._support.gateway_world import DEFENSE
from tests._support.ledger_cases import allow


@pytest.fixture
def small(tmp_path):
    """A ledger of its own with some counts, its key, and a run."""
    key = tmp_path / "own.key"
    key.touch(mode=0o600)
    key.write_bytes(new_key())
    path = tmp_path / "own.db"
    Ledger.create(f"sqlite:///{path}", key.read_bytes())
    with Ledger.open(f"sqlite:///{path}", key.read_bytes(), limits=Limits()) as ledger:
        ledger.charge(ChargeRequest([str(number) for number in range(400)], Price(), "test", "first"))
    return path, key


def serve_words(folder, path, key):
    parties = [word for name in PARTIES for word in ("--party", f"{name}=127.0.0.1:1")]
    places = ["--ledger", f"sqlite:///{path}", "--ledger-key", str(key), "--certs", str(World(folder).certs)]
    return ["gateway", "serve", str(World(folder).run), *DEFENSE, *parties, *places, "--port", "0"]


def overwrite(path, key):
    held = bytearray(path.read_bytes())
    held[5000:9000] = random.Random(1).randbytes(4000)
    path.write_bytes(held)


def other_key(path, key):
    key.write_bytes(new_key())


DAMAGE = {
    "bytes overwritten": (overwrite, "put back its latest copy"),
    "not a database": (lambda path, key: path.write_text("entity,count\n" * 1000), "put back its latest copy"),
    "cut in half": (lambda path, key: os.truncate(path, path.stat().st_size // 2), "put back its latest copy"),
    "cut within a page": (lambda path, key: os.truncate(path, path.stat().st_size - 100), "put back its latest copy"),
    "empty": (lambda path, key: os.truncate(path, 0), "put back its latest copy"),
    "missing": (lambda path, key: path.unlink(), "privee ledger init"),
    "another key": (other_key, "made with another key"),
    "a key that all can read": (lambda path, key: key.chmod(0o644), "chmod 600"),
    "a key too short": (lambda path, key: key.write_bytes(b"short"), "at least 16 bytes"),
    "no key": (lambda path, key: key.unlink(), "cannot read the key file"),
}


@pytest.mark.parametrize(("damage", "advice"), DAMAGE.values(), ids=DAMAGE)
def test_a_bad_ledger_is_refused_at_the_start_with_advice(folder, small, damage, advice, capsys, monkeypatch):
    path, key = small
    damage(path, key)
    before = path.read_bytes() if path.exists() else None
    monkeypatch.setattr(sys, "argv", ["privee", *serve_words(folder, path, key)])
    assert cli.run() == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.strip().splitlines()) == 1
    assert advice in told.err
    assert before == (path.read_bytes() if path.exists() else None)  # nothing is made anew or mended in silence


def test_a_ledger_that_is_gone_is_not_made_anew(small):
    """An empty file in its place would be refused with the advice to make a new ledger, which would forget."""
    path, key = small
    with Ledger.open(f"sqlite:///{path}", key.read_bytes(), limits=Limits()) as ledger:
        path.rename(path.with_suffix(".away"))
        with ledger.reading(), contextlib.suppress(PriveeError):  # another reads, so that this needs a new connection
            ledger.spent("1")
    assert not path.exists()


def test_the_process_that_refuses_ends_with_2(folder, small):
    path, key = small
    overwrite(path, key)
    words = [sys.executable, "-m", "privee", *serve_words(folder, path, key)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert ended.returncode == 2
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "put back its latest copy" in ended.stderr


def test_whichever_page_is_overwritten_no_count_is_lost(small):
    """Refused when it is opened, or when it is asked; what is answered is what was counted."""
    path, key = small
    whole, refused = path.read_bytes(), 0
    for page in range(len(whole) // 4096):
        noise = random.Random(page).randbytes(4096)
        path.write_bytes(whole[: 4096 * page] + noise + whole[4096 * (page + 1) :])
        for leftover in ("-wal", "-shm"):
            path.with_name(path.name + leftover).unlink(missing_ok=True)
        try:
            with Ledger.open(f"sqlite:///{path}", key.read_bytes(), limits=allow(releases=1)) as ledger:
                assert {ledger.spent(str(number)).lifetime_releases for number in range(400)} == {1}
                with pytest.raises(RefusedError):
                    ledger.charge(ChargeRequest(["7"], Price(), "test", "second"))
        except PriveeError:
            refused += 1
    assert refused > 10
