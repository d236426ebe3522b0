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


def given_to_run(project, tmp_path, monkeypatch, *words) -> list:
    """The jobs that `run` would submit."""
    asked = []
    monkeypatch.setattr(kits_run, "run_project", lambda found, out, **_: asked.append(found.job) or _stop())
    with pytest.raises(PriveeError, match="not now"):
        invoked("run", project.folder, "--out", tmp_path / "risk-sealed", *words)
    return asked


def _stop() -> None:
    raise PriveeError("not now")


def test_a_run_may_start_from_a_finished_one(project, tmp_path, monkeypatch):
    """Also from one called `run`, which is what a project's job is called before it has a name."""
    for name in ("risk", "run"):
        words = ("--seal", "codes=8", "--start-from", tmp_path / name)
        (job,) = given_to_run(project, tmp_path, monkeypatch, *words)
        seals = {"shop": Seal(codes=8), "phone": Seal(codes=8)}
        assert job == dataclasses.replace(project.job, run="risk-sealed", start_from=name, seals=seals)
    invoked("init", tmp_path / "plain", "--party", "bank", "--party", "shop", "--active", "bank")
    with pytest.raises(PriveeError, match="only a run with seals starts from a finished one"):
        invoked("run", tmp_path / "plain", "--out", tmp_path / "x", "--start-from", "risk")


def test_sensitive_columns_of_own_tables_are_told_to_their_owner_alone(project, tmp_path, monkeypatch):
    words = ("--seal", "codes=8", "--sensitive", "shop:basket", "--sensitive", "phone:calls")
    (job,) = given_to_run(project, tmp_path, monkeypatch, *words)
    assert job.seals == {"shop": Seal(sensitive=("basket",)), "phone": Seal(sensitive=("calls",))}
    given = ["--party", "bank", "--party", "shop", "--active", "bank", "--seal", "codes=4", "--sensitive", "basket"]
    invoked("init", tmp_path / "one", *given)
    assert Project.open(tmp_path / "one").job.seals == {"shop": Seal(codes=4, sensitive=("basket",))}
    for unclear in ("basket", "bank:salary"):
        with pytest.raises(PriveeError, match=f"whose column is '{unclear}'.* one of shop, phone"):
            invoked("run", project.folder, "--out", tmp_path / "x", "--seal", "codes=8", "--sensitive", unclear)
    with pytest.raises(PriveeError, match="give --seal as well"):
        invoked("run", project.folder, "--out", tmp_path / "x", "--sensitive", "shop:basket")


def test_sensitive_columns_of_a_dataset_are_told_to_their_owner_alone(tmp_path):
    given = ["--dataset", "digits", "--parties", 3, "--seal", "codes=4", "--sensitive", "pixel_4_4"]
    invoked("init", tmp_path / "digits", *given)
    seals = Project.open(tmp_path / "digits").job.seals
    assert sorted(seal.sensitive for seal in seals.values()) == [(), ("pixel_4_4",)]
    with pytest.raises(PriveeError, match="no sealed party has a column called 'pixel_9_9'"):
        invoked("init", tmp_path / "no", *given, "--sensitive", "pixel_9_9")
    assert not (tmp_path / "no").exists()


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
    seals = {
        "shop": Seal(codes=4, epsilon=3.0, sensitive=("pixel_30",)),
        "phone": Seal(codes=4, epsilon=3.0, learn="own", sensitive=("pixel_50", "pixel_51")),
    }
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
    marked = [f"{site}:{name}" for site, seal in seals.items() for name in seal.sensitive]
    given += [word for name in marked for word in ("--sensitive", name)]
    code, words = said(started("simulate", *given, "--out", tmp_path / "run", "--json"), 200)
    assert code == 0, words
    assert json.loads(words[words.index("{") :])["seals"] == expected.seals
    assert largest_difference(tmp_path / "local", tmp_path / "run") == 0.0
    for site in seals:
        assert_same_codes(*(tmp_path / run / "parties" / site for run in ("local", "run")))
        assert (tmp_path / "run" / "parties" / site / KEY).stat().st_mode & 0o077 == 0
    opened, _ = open_run(tmp_path / "run", files)
    assert (opened.scores()[data.test].argmax(axis=1) == data.labels[data.test]).mean() == expected.test.accuracy
