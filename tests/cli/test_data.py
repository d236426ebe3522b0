"""`privee data`."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privee import PriveeError
from privee.cli.app import app as whole_app
from privee.cli.data import app
from privee.data.datasets.load import cache_folder
from tests._support.dataset_server import (
    running_server,
    small_adult,
    use_own_folders,
)


@pytest.fixture
def server():
    with running_server() as running:
        yield running


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    use_own_folders(tmp_path, monkeypatch)


@pytest.fixture
def adult(server, monkeypatch):
    return small_adult(server, monkeypatch)


# --- privee data ------------------------------------------------------------------------------------------------------


def run(*arguments: object):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "160"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_list_says_where_each_dataset_is(server, adult):
    adult("good")
    lines = {line.split()[1]: line for line in run("list").splitlines() if line.startswith("│")}
    assert "embedded" in lines["digits"]
    assert "1,797" in lines["digits"]
    assert "not here" in lines["adult"]
    assert "CC BY 4.0" in lines["adult"]
    run("fetch", "adult")
    found = {one["name"]: one for one in json.loads(run("list", "--json"))}
    assert found["adult"]["where"] == "found"
    assert found["adult"]["source"] == f"official files in {cache_folder() / 'adult'}"
    assert (found["adult"]["rows"], found["adult"]["columns"], found["adult"]["classes"]) == (48_842, 14, 2)
    assert found["mnist"]["where"] == "not here"
    assert found["breast-cancer"]["embedded"] is True


def test_fetch_can_be_repeated(server, adult):
    adult("good")
    assert run("fetch", "adult", "digits").splitlines() == [
        f"adult: fetched, official files in {cache_folder() / 'adult'}",
        "digits: embedded, scikit-learn's bundled copy",
    ]
    (again,) = json.loads(run("fetch", "adult", "--json"))
    assert again["status"] == "already here"
    assert again["paths"] == [str(cache_folder() / "adult" / name) for name in ("adult.data", "adult.test")]
    assert len(server.requests) == 2
    with pytest.raises(PriveeError, match="no dataset is called 'nope'"):
        run("fetch", "nope")


def test_info_of_a_dataset_that_is_not_here_and_then_is(server, adult, tmp_path):
    adult("good")
    text = run("info", "adult")
    assert "here: no" in text
    assert "fetch it with: privee data fetch adult" in text
    assert server.requests == []
    for name in ("adult.data", "adult.test"):
        (tmp_path / name).write_bytes(server.files[name])
    text = run("info", "adult", "--data-dir", tmp_path)
    assert f"here: official files in {tmp_path}" in text
    assert f"sha256 {hashlib.sha256(server.files['adult.data']).hexdigest()}" in text
    assert "training (3, 16), test (3, 16), 16 features in [0, 1]" in text
    facts = json.loads(run("info", "adult", "--data-dir", tmp_path, "--json"))
    assert facts["train_counts"] == facts["test_counts"] == {"<=50K": 2, ">50K": 1}
    assert facts["x_train"] == [3, 16]
    (tmp_path / "adult.data").write_bytes(b"something else")
    with pytest.raises(PriveeError, match=r"adult\.data is broken or was changed"):
        run("info", "adult", "--data-dir", tmp_path)


def test_info_of_an_embedded_dataset():
    facts = json.loads(run("info", "digits", "--json"))
    assert facts["where"] == "embedded"
    assert sum(facts["train_counts"].values()) + sum(facts["test_counts"].values()) == 1797
    assert facts["features"] == 64


registered = pytest.mark.skipif(
    "data" not in [group.name for group in whole_app.registered_groups], reason="`privee data` is not registered yet"
)


@registered
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nope"], "no dataset is called 'nope'"),
        (["info", "adult", "--data-dir", "nowhere"], "the data folder is set to nowhere, which is not a folder"),
        (["info", "adult", "--data-dir", "broken"], "adult.data.gz is broken or was changed"),
        (["fetch"], "Missing argument"),
    ],
)
def test_as_a_process_bad_input_gets_one_line(tmp_path, arguments, message):
    (tmp_path / "broken").mkdir()
    for name in ("adult.data.gz", "adult.test.gz"):
        (tmp_path / "broken" / name).write_bytes(gzip.compress(b"39, Private\n"))
    done = _process(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


@registered
def test_as_a_process(tmp_path):
    listed = _process("list", "--json", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert {one["name"]: one["where"] for one in json.loads(listed.stdout)}["digits"] == "embedded"
    helped = _process("fetch", "--help", cwd=tmp_path)
    assert "Example: privee data fetch mnist adult" in " ".join(helped.stdout.split())


def _process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    clean = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
    environment = clean | {"COLUMNS": "120", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "privee", "data", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
