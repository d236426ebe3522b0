"""`privee gateway serve --scorer`, as a command and as processes."""

import numpy as np
import pytest
from typer.testing import CliRunner

from privee.cli.app import app
from privee.client import Client
from privee.defenses.secret_keys import read_key
from privee.durable.private_files import key_file
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.limits import Limits
from privee.processes import ServerProcess
from tests._support.scorer_models import xgboost

DEFENSE = ("--defense", "none", "--releases", "4")


@pytest.fixture
def given(monkeypatch):
    """What the command makes of its options."""
    found = []
    monkeypatch.setattr("privee.gateway.http.server.serve", lambda settings, **_: found.append(settings))
    return found


def run(*options):
    return CliRunner().invoke(app, ["gateway", "serve", *options])


def test_options(given, tmp_path):
    answer = run(
        *("--scorer", "m.onnx", "--rows", "people.csv", "--id", "person", "--columns", "a, b", "--classes", "no,yes"),
        *("--scorer-output", "p", "--logits", "--name", "risk", *DEFENSE),
    )
    assert answer.exit_code == 0, answer.output
    scorer = given[0].scorer
    assert (scorer.given, scorer.rows, scorer.id_column, scorer.columns) == (
        "m.onnx",
        "people.csv",
        "person",
        ("a", "b"),
    )
    assert (scorer.classes, scorer.output, scorer.logits, given[0].name) == (("no", "yes"), "p", True, "risk")
    assert given[0].run is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "give a run folder, or --scorer"),
        (("runs/risk", "--scorer", "m.onnx"), "one of the two"),
        (("runs/risk", "--id", "person"), "are a scorer's: give --scorer"),
        (("runs/risk", "--rows", "people.csv"), "are a scorer's: give --scorer"),
        (("--scorer", "m.onnx", "--rows", "p.csv"), "Give --id COLUMN"),
        (("--scorer", "m.onnx", "--id", "person"), "give it with --rows"),
        (("--scorer", "m.onnx", "--party", "bank=127.0.0.1:1"), "has no parties"),
    ],
)
def test_what_does_not_go_together(given, options, words):
    answer = run(*options, *DEFENSE)
    assert answer.exit_code != 0
    assert words in str(answer.exception)
    assert not given


def test_a_certificate_without_parties(tmp_path):
    answer = CliRunner().invoke(app, ["certs", "init", str(tmp_path / "certs"), "--name", "gateway.example"])
    assert answer.exit_code == 0, answer.output
    assert sorted(one.name for one in (tmp_path / "certs").iterdir() if one.is_dir()) == ["coordinator"]


@pytest.mark.slow  # three processes
def test_several_workers_with_a_model_whose_library_has_threads(people, tmp_path):
    """Workers are forked after the model was tried: threads of OpenMP that are there already must not stop them."""
    model = xgboost(people.x, people.y, tmp_path / "m.json")
    url, key = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "ledger.key"
    with key_file(key):
        Ledger.create(url, read_key(key))
    with Ledger.open(url, read_key(key), limits=Limits()) as ledger:
        text = KeyStore(ledger.engine, ledger.chain_key, ledger.now).create("me", "consumer", ["*"], actor="test").text
    arguments = ["gateway", "serve", "--scorer", str(tmp_path / "m.json"), "--rows", str(people.csv), "--id", "person"]
    arguments += [
        "--ledger",
        url,
        "--ledger-key",
        str(key),
        "--port",
        "0",
        "--workers",
        "2",
        "--deadline",
        "20",
        *DEFENSE,
    ]
    process = ServerProcess(arguments, tmp_path / "ready", tmp_path / "log")
    try:
        address = process.wait_ready().ready["url"]
        for _ in range(4):
            with Client(address, text) as client:
                assert np.allclose(client.infer(["p001"])[0], model.predict_proba(people.x[1:2])[0], atol=1e-6)
    finally:
        process.stop()
