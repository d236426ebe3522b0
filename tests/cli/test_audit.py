"""`privee attack` and `privee audit`, run as a user runs them."""

import json
import signal
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from privee.cli import app
from tests._support.commands import good, run, start

ENTRY = """
import numpy as np
from scipy.special import softmax

X = np.random.default_rng(0).random((120, 8)) * 30
W = np.random.default_rng(1).normal(size=(8, 5)) / 10

def parts():
    return {"model": lambda a, p: softmax(np.hstack([a, p]) @ W, axis=1), "active_columns": X[:, :5],
            "passive_columns": X[:, 5:], "labels": np.zeros(120, dtype=int)}

def broken():
    return (lambda a, p: softmax(np.hstack([a, p]) @ W, axis=1) * np.nan, X[:, :5], X[:, 5:])
"""
QUICK = ("-a", "equation-solving", "-a", "learned-inversion:simulations=1", "--seeds", 1, "--records", 40, "--jobs", 1)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a trained run, a release of it, and a user's own model."""
    folder = tmp_path_factory.mktemp("audits")
    (folder / "mine.py").write_text(ENTRY)
    training = ("--epochs", 10, "--batch-size", 32, "--learning-rate", 0.01, "--adversary-fraction", 0.875)
    good("train", "digits", "--out", "runs/digits", "--model", "logistic", *training, cwd=folder)
    for name in ("a.csv", "b.parquet"):
        good("predict", "runs/digits", "-d", "privee-u:rho=0.1", "-o", name, cwd=folder)
    good("predict", "runs/digits", "-d", "none", "--rows", "train", "-o", "train.csv", cwd=folder)
    return folder


def test_one_attack_on_one_defense(place):
    told = json.loads(good("attack", "runs/digits", "-a", "equation-solving", "--json", cwd=place))
    assert told["finding"]["feature_mse"] < 1e-6
    assert {guess["attack"] for guess in told["guesses"]} == {"uniform guess", "mean guess", "regression guess"}
    words = good("attack", "runs/digits", "-a", "equation-solving", "-d", "privee-u:rho=0.1", "--naive", cwd=place)
    assert "worse than the column means" in words
    assert not (place / ".privee-attack").exists()


def test_a_coordinator_that_helps_sees_embeddings(place):
    """Eight columns behind ten logits: whatever is released, they are told; nobody else sees embeddings."""
    chosen = ("-a", "embedding-inversion", "-d", "label-only", "--records", 60)
    told = json.loads(good("attack", "runs/digits", *chosen, "--by", "coordinator", "--json", cwd=place))
    assert told["finding"]["guess_normalised"] < 0.1
    assert "with the coordinator" in told["finding"]["subject"]
    code, _, err = run("attack", "runs/digits", *chosen, cwd=place)
    assert code == 2
    assert "embedding-inversion cannot be used here: needs the embeddings that a coordinator sees" in err
    code, _, err = run("attack", "--entry", "mine:parts", *chosen, "--by", "coordinator", cwd=place)
    assert code == 2
    assert "a model without parts" in err


def test_release_files_that_were_really_handed_out(place):
    once, twice = (
        json.loads(good("attack", "runs/digits", "-d", "privee-u:rho=0.1", *more, "--json", cwd=place))["finding"]
        for more in (
            ("-a", "equation-solving", "--releases", "a.csv"),
            ("-a", "repeated-query:inner=equation-solving", "--releases", "a.csv", "--releases", "b.parquet"),
        )
    )
    assert (once["queries"], twice["queries"]) == (1, 2)
    assert twice["feature_mse"] < once["feature_mse"] < 0.05


def test_reconstructed_columns_are_written(place):
    good("attack", "runs/digits", "-a", "equation-solving", "-o", "found.npy", "--records", 30, cwd=place)
    assert np.load(place / "found.npy", allow_pickle=False).shape == (30, 8)
    code, _, err = run("attack", "runs/digits", "-a", "equation-solving", "-o", "found.npy", cwd=place)
    assert (code, err) == (2, "privee: found.npy exists already; use --force to replace it\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("attack",), "say what to attack: a run folder, --dataset digits, or --entry module:function"),
        (("attack", "runs/digits", "--dataset", "digits"), "say what to attack"),
        (("attack", "runs/absent"), "runs/absent is not a run"),
        (("attack", "runs/digits", "-a", "nonsense"), "no attack is called 'nonsense'"),
        (
            ("attack", "runs/digits", "--releases", "train.csv"),
            "train.csv has 899 rows, there are 898 records to attack",
        ),
        (("attack", "runs/digits", "--releases", "short.csv"), "short.csv has 9 classes, the model 10"),
        (("attack", "runs/digits", "--releases", "swapped.csv"), "swapped.csv holds other rows than the records"),
        (
            ("attack", "runs/digits", "--releases", "words.csv"),
            "the column 'row' holds something that is not a row number",
        ),
        (("attack", "runs/digits", "--releases", "nan.npy"), "nan.npy holds values that are not finite numbers"),
        (("attack", "runs/digits", "-a", "repeated-query:inner=equation-solving"), "needs 2 queries per record"),
        (("attack", "runs/digits", "--fraction", "1.5"), "adversary fraction must lie between 0 and 1"),
        (("attack", "runs/digits", "-o", "found.csv", "-a", "equation-solving"), "are written as .npy"),
        (("audit",), "say what to attack"),
        (("audit", "--entry", "mine:broken", *QUICK), "the model gave scores that are not finite numbers"),
        (("audit", "--entry", "mine:absent", *QUICK), "mine has no function absent"),
        (("audit", "--entry", "mine:parts", "-d", "none", "-d", "rounding:digits=x"), "digits"),
    ],
)
def test_bad_input_gets_one_clear_line(place, arguments, says, monkeypatch, capsys):
    """In this process: starting sixteen more would take minutes."""
    lines = (place / "a.csv").read_text().splitlines()
    (place / "short.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    (place / "swapped.csv").write_text("\n".join([lines[0], lines[2], lines[1], *lines[3:]]) + "\n")
    (place / "words.csv").write_text("\n".join([lines[0], "x" + lines[1], *lines[2:]]) + "\n")
    np.save(place / "nan.npy", np.full((898, 10), np.nan))
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["privee", *map(str, arguments)])
    assert app.run() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert says in err


def test_audit_of_a_run_at_two_fractions(place):
    arguments = ("--fraction", 0.875, "--fraction", 0.9, "-d", "none", "-d", "ranking-only", *QUICK, "-o", "report-1")
    words = good("audit", "runs/digits", *arguments, cwd=place)
    assert "87.5% known to the attacker, 12.5% unknown" in words
    assert "58 of 64 columns known" in words
    written = {file.name for file in (place / "report-1").iterdir()}
    assert written == {"audit.json", "findings.csv", "findings.parquet", "findings.jsonl", "report.html"}
    told = json.loads(good("audit", "runs/digits", *arguments, "--json", cwd=place))
    assert [card["grade"] for card in told["cards"] if card["defense"] == "none"] == ["open", "open"]


def test_audit_of_ones_own_model(place):
    words = good("audit", "--entry", "mine:parts", "-d", "none", "-d", "ranking-only", *QUICK, "-o", "own", cwd=place)
    assert "mine:parts" in words
    assert "open" in words
    assert "<svg" in (place / "own" / "report.html").read_text()


def test_an_audit_that_is_terminated_ends_its_workers(place):
    """Real processes: the two that attack, and what they share, are gone once the command has ended."""
    command = ("audit", "--entry", "mine:parts", "-o", "ended", "-a", "prior-informed", "--seeds", 20, "--jobs", 2)
    process = start(*command, cwd=place)
    own = psutil.Process(process.pid)
    started = []
    end = time.monotonic() + 120
    while not (place / "ended" / "findings.jsonl").exists() or len(started) < 2:
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        started = own.children(recursive=True)
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    _, left = psutil.wait_procs(started, timeout=10)
    assert [one for one in left if one.is_running() and one.status() != psutil.STATUS_ZOMBIE] == []


def test_an_interrupted_audit_goes_on(place):
    arguments = ("audit", "runs/digits", "-a", "grna-generator", "--records", 100, "--jobs", 1, "-o", "broken-off")
    process = start(*arguments, cwd=place)
    stored = place / "broken-off" / "findings.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (stored.exists() and stored.read_text().count("\n") >= 2):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith("privee: interrupted; the same command goes on where it stopped\n")
    before = stored.read_text().splitlines()
    assert 2 <= len(before) < 42
    good(*arguments, "-d", "none", "--seeds", 1, cwd=place)
    assert stored.read_text().splitlines()[: len(before)] == before
