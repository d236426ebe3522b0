"""The engine spu without spu: real processes, real pipes, and workers that fail in every way we thought of."""

import contextlib
import os
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import privee
from privee.data.alignment import align
from privee.data.alignment.spu.meetings import Patience
from privee.data.alignment.spu.one_machine import align_with_spu
from privee.data.alignment.spu.pipe import VARIABLE, SpuWorker, spu_command
from privee.errors import SettingError, UnavailableError
from tests._support.alignment import BANK, CLUB, SHOP

STAND_IN = Path(__file__).parents[2] / "_support" / "stand_in_worker.py"
SOON = Patience(connect=20, step=20)


def stand_in(mode="well", rank=0, hello_seconds=60.0):
    return partial(SpuWorker, [sys.executable, str(STAND_IN), mode, str(rank)], hello_seconds)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Whatever happens, no file of a worker is left."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("active", ["bank", "shop", "club"])
def test_agrees_with_the_first_engine(active):
    parties, steps = {"bank": BANK, "shop": SHOP, "club": CLUB}, []
    found = align_with_spu(
        parties, active=active, start=stand_in(), progress=lambda done, size: steps.append((done, size))
    )
    expected = align(parties, active=active)
    assert found.size == expected.size == 7
    assert {name: rows.tolist() for name, rows in found.rows.items()} == {
        name: rows.tolist() for name, rows in expected.rows.items()
    }
    assert steps[-1] == (8, 8)
    assert sorted(steps) == steps


def test_ids_are_compared_exactly():
    bank = ["7", "007", "Ab", "x ", "é", "e\u0301", 'a,"b"\n', "NULL"]
    found = align_with_spu(
        {"bank": bank, "shop": ["NULL", "07", "ab", "e\u0301", 'a,"b"\n']}, active="bank", start=stand_in()
    )
    assert [bank[row] for row in found.rows["bank"]] == ["NULL", 'a,"b"\n', "e\u0301"]


@pytest.mark.parametrize(
    ("parties", "words"),
    [
        ({"bank": BANK[:3], "shop": SHOP[:3]}, "parties bank and shop have no common ids"),
        ({"bank": ["a", "b"], "shop": ["b"], "club": ["a"]}, "parties bank, shop and club have no common ids"),
        ({"bank": ["a", "a"], "shop": ["b"]}, "party bank has 1 duplicate id"),
        ({"bank": ["a"], "shop": []}, "party shop has no ids"),
    ],
)
def test_the_same_words_as_the_first_engine(parties, words):
    with pytest.raises(privee.PriveeError, match=words):
        align_with_spu(parties, active="bank", start=stand_in(), patience=SOON)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("garbage", "does not speak as a worker of spu does"),
        ("no object", "does not speak as a worker of spu does"),
        ("no JSON", "does not speak as a worker of spu does"),
        ("other hello", "no worker of this version"),
        ("half a frame", "ended unexpectedly"),
        ("ends", r"ended unexpectedly \(exit code 3\)"),
        ("no spu", r"cannot import spu \(ModuleNotFoundError\)"),
    ],
)
def test_what_is_no_worker_is_refused_in_one_line(mode, words):
    with pytest.raises(privee.PriveeError, match=words) as caught:
        stand_in(mode)()
    assert "\n" not in str(caught.value)


def test_a_deaf_worker_is_given_up_and_ended():
    started = time.monotonic()
    with pytest.raises(UnavailableError, match="no answer in time"):
        stand_in("deaf", hello_seconds=1.0)()
    assert time.monotonic() - started < 15


GONE = r"exit code -9|the intersection broke off.*\((RuntimeError|ConnectionResetError|BrokenPipeError)\)|was lost"


@pytest.mark.parametrize(
    ("mode", "rank", "words"),
    [
        ("dies", 0, GONE),
        ("dies", 1, GONE),
        ("fails", 0, GONE),
        ("fails", 1, GONE),
        ("sleeps", 0, f"no answer in time|{GONE}"),
        ("sleeps", 1, f"no answer in time|{GONE}"),
        ("invents", 0, "places that are not there"),
        ("invents", 1, "places that are not there"),
        ("forgets", 1, "did not end with the same records"),  # an active party that forgets has fewer ids: no error
    ],
)
def test_one_worker_that_fails_ends_the_alignment(mode, rank, words):
    """The others are ended too, and nothing that a worker says of ids is passed on."""
    patience = Patience(connect=20, step=3) if mode == "sleeps" else SOON
    started = time.monotonic()
    with pytest.raises(privee.PriveeError, match=words) as caught:
        align_with_spu({"bank": BANK, "shop": SHOP}, active="bank", start=stand_in(mode, rank), patience=patience)
    assert "\n" not in str(caught.value)
    assert "customer" not in str(caught.value)
    assert time.monotonic() - started < 60


def test_a_worker_that_others_ended_is_told_as_that():
    """When one fails all are ended, and whoever waits for another one finds its pipes closed."""
    worker = stand_in()()
    worker.close()
    with pytest.raises(UnavailableError, match="ended unexpectedly"):
        worker.ask("link", seconds=30)


def test_workers_are_gone_afterwards():
    with stand_in()() as worker:
        pid = worker._process.pid
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_large_command_does_not_hang_on_a_worker_that_does_not_read():
    with stand_in("well")() as worker:
        os.kill(worker._process.pid, 19)  # SIGSTOP
        with pytest.raises(UnavailableError, match="no answer in time"):
            worker.ask("swap", bytes(1 << 22), seconds=1.0)


def test_only_digests_under_a_fresh_key_reach_a_worker(monkeypatch):
    given = []
    real = SpuWorker.ask

    def ask(self, do, body=b"", **more):
        given.append((do, body))
        return real(self, do, body, **more)

    monkeypatch.setattr(SpuWorker, "ask", ask)
    sets = []
    for _ in range(2):
        given.clear()
        align_with_spu({"bank": BANK, "shop": SHOP}, active="bank", start=stand_in())
        joined = b"".join(body for _, body in given)
        assert not any(value.encode() in joined for value in {*BANK, *SHOP})
        sets.append({body[i : i + 16] for do, body in given if do == "intersect" for i in range(0, len(body), 16)})
        assert len(sets[-1]) == len({*BANK, *SHOP})
    assert not sets[0] & sets[1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "which PRIVEE_SPU_PYTHON names"),
        ("", "needs a Python of its own"),
        ("/nowhere/python", "which is no program"),
    ],
)
def test_a_missing_python_is_one_clear_line(monkeypatch, value, words):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(SettingError, match=words) as caught:
        align_with_spu({"bank": BANK, "shop": SHOP}, active="bank")
    assert "pip install spu" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_this_python_has_no_spu(monkeypatch):
    monkeypatch.setenv(VARIABLE, sys.executable)
    with contextlib.suppress(ImportError):
        import spu  # noqa: F401

        pytest.skip("this Python has spu")
    assert spu_command()[:2] == [sys.executable, "-I"]
    with pytest.raises(SettingError, match="cannot import spu"):
        align_with_spu({"bank": BANK, "shop": SHOP}, active="bank")
