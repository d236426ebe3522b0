"""Seals on the command line, and a sealed training in processes of their own."""

import dataclasses
import json

import pytest
from benchmarks._shared.federation_jobs import free_port
from typer.testing import CliRunner

from privee.atomic import read_json
from privee.cli.federation import app
from privee.errors import PriveeError
from privee.federation.kits import run as kits_run
from privee.federation.kits.project import Project
from privee.federation.kits.start_kit import own_settings
from privee.vfl.experiment import open_run, train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.seal import Seal
from privee.vfl.seal.drawing import KEY
from privee.vfl.training import TrainingSettings
from tests._support.federation import (
    assert_same_codes,
    largest_difference,
    said,
    same_secrets,
    started,
    write_tables,
)

NAMES = ("bank", "shop", "phone")


def invoked(*words: object) -> None:
    found = CliRunner().invoke(app, [str(word) for word in words])
    if found.exception is not None:
        raise found.exception


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    folder = tmp_path_factory.mktemp("sealed") / "project"
    parties = [word for name in NAMES for word in ("--party", name)]
    seals = ["--seal", "phone:codes=4,learn=own", "--seal", "codes=8,epsilon=4"]
    invoked("init", folder, *parties, "--active", "bank", "--port", free_port(), *seals)
    return Project.open(folder)


def test_seals_of_a_project(project, tmp_path):
    assert project.job.seals == {"shop": Seal(codes=8, epsilon=4.0), "phone": Seal(codes=4, learn="own")}
    assert read_json(project.folder / "project.json")["job"]["seals"]["shop"]["codes"] == 8
    given = ["--party", "bank", "--party", "shop", "--active", "bank"]
    invoked("init", tmp_path / "all", *given, "--seal", "signs=2")
    assert Project.open(tmp_path / "all").job.seals == {"shop": Seal(signs=2)}
    with pytest.raises(PriveeError, match="the passive parties are shop"):
        invoked("init", tmp_path / "none", *given, "--seal", "bank:codes=8")
    assert not (tmp_path / "none").exists()


def test_a_run_may_have_seals_of_its_own(project, tmp_path, monkeypatch):
    asked = []

    def refuse(found, *_, **__):
        asked.append(found.job)
        raise PriveeError("not now")

    monkeypatch.setattr(kits_run, "run_project", refuse)
    for more in ([], ["--seal", "phone:codes=4"]):
        with pytest.raises(PriveeError, match="not now"):
            invoked("run", project.folder, "--out", tmp_path / "run", *more)
    assert asked == [project.job, dataclasses.replace(project.job, seals={"phone": Seal(codes=4)})]


def test_a_site_says_what_it_insists_on_and_a_new_table_does_not_undo_it(project, tmp_path):
    kit, table = project.kit("shop"), write_tables(tmp_path, ("bank", "shop"))["shop"]
    invoked("data", kit, "--data", table, "--id", "customer")
    assert own_settings(kit).seal is None
    invoked("data", kit, "--data", table, "--id", "customer", "--seal", "codes=8,epsilon=4")
    invoked("data", kit, "--data", table, "--id", "customer")
    assert own_settings(kit).seal == "codes=8,epsilon=4"
    with pytest.raises(PriveeError, match="a seal is written"):
        invoked("data", kit, "--data", table, "--id", "customer", "--seal", "tight")
    assert own_settings(kit).seal == "codes=8,epsilon=4"


@pytest.mark.slow
def test_simulated_sealed_sites_train_as_in_one_process(tmp_path):
    """Two seals, one learned with the task and one from own columns, pipelined, over NVFlare's own processes."""
    files = write_tables(tmp_path, NAMES)
    seals = {"shop": Seal(codes=4, epsilon=3.0), "phone": Seal(codes=4, epsilon=3.0, learn="own")}
    columns = dict.fromkeys(NAMES, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="digit", test_share=0.2, seed=0)
    settings = TrainingSettings(epochs=2, batch_size=64, learning_rate=0.01, pipeline=True, scaling="standard")
    expected = train_run(tmp_path / "local", data, "mlp", settings, seals=seals)
    same_secrets(tmp_path / "local", {site: tmp_path / "run.parts" / site / "run" for site in seals})
    given = [word for name in NAMES for word in ("--party", f"{name}={files[name]}")]
    given += ["--active", "bank", "--id", "customer", "--label", "digit", "--model", "mlp"]
    given += ["--epochs", 2, "--batch-size", 64, "--learning-rate", 0.01, "--scaling", "standard", "--schedule"]
    given += ["constant", "--penalty", 0, "--patience", 0, "--pipeline"]
    given += [word for site, seal in seals.items() for word in ("--seal", f"{site}:{seal.spec}")]
    code, words = said(started("simulate", *given, "--out", tmp_path / "run", "--json"), 200)
    assert code == 0, words
    assert json.loads(words[words.index("{") :])["seals"] == expected.seals
    assert largest_difference(tmp_path / "local", tmp_path / "run") == 0.0
    for site in seals:
        assert_same_codes(*(tmp_path / run / "parties" / site for run in ("local", "run")))
        assert (tmp_path / "run" / "parties" / site / KEY).stat().st_mode & 0o077 == 0
    opened, _ = open_run(tmp_path / "run", files)
    assert (opened.scores()[data.test].argmax(axis=1) == data.labels[data.test]).mean() == expected.test.accuracy
