"""The same, over NVFlare: a provisioned project with mutual TLS, every role a process of its own, and crashes."""

import dataclasses
import json
import signal
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job, free_port

import privee
from privee.atomic import read_json
from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.federation.kits.admin import admin_of
from privee.federation.kits.project import Project, create_project
from privee.federation.kits.run import run_job
from privee.federation.kits.simulator import assemble
from privee.federation.kits.start_kit import local_kits, start_kit
from privee.gateway.demo import World, make_world
from privee.processes import ChildProcess, start_party
from privee.vfl.experiment import open_run, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.training import TrainingSettings
from privee.vfl.weights import load_tensors
from tests._support.federation import refusal, said, started

pytestmark = pytest.mark.slow  # `make test` has the same over real bytes in one process, and jobs on running kits

EPOCHS, ANSWER = 40, 8.0


def board_of(project: Project, run: Path) -> Path:
    return project.kit("localhost") / "privee" / f"{run.name}.progress.json"


def wait_for_epoch(board: Path, epoch: int, process: subprocess.Popen) -> None:
    """Until a job of this process is in the middle of a training."""
    end = time.monotonic() + 150
    while not board.exists() or (state := read_json(board))["phase"] != "training" or state.get("epoch", 0) < epoch:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "the training did not start"
        time.sleep(0.05)


def wait_for_file(file: Path, process: subprocess.Popen) -> None:
    end = time.monotonic() + 150
    while not file.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, f"{file.name} was not written"
        time.sleep(0.02)


def wait_for_port(port: int) -> None:
    end = time.monotonic() + 150
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10).close()
        except ConnectionRefusedError:
            assert time.monotonic() < end, "no job listens on the direct port"
            time.sleep(0.1)


def crash(site: ChildProcess, board: Path) -> float:
    """Kill a site; seconds until the coordinator gave up."""
    site.kill()
    killed = time.monotonic()
    while "error" not in read_json(board):
        assert time.monotonic() < killed + ANSWER + 20
        time.sleep(0.1)
    return time.monotonic() - killed


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    job = digits_job("mlp", 2, epochs=EPOCHS)
    job = job.from_dict(job.as_dict() | {"answer_seconds": ANSWER})
    folder = tmp_path_factory.mktemp("federation") / "project"
    return create_project(folder, job, port=free_port(), direct_port=free_port())


@pytest.fixture(scope="module")
def other(project, tmp_path_factory) -> Project:
    """The same names, signed by another authority."""
    return create_project(tmp_path_factory.mktemp("other") / "project", project.job, port=project.port)


@pytest.fixture(scope="module")
def kits(project):
    """Server and sites, running; stopped by their ids at the end."""
    with local_kits(project) as children:
        yield children


@dataclasses.dataclass
class Broken:
    """What became of a run whose passive site died."""

    out: Path
    written: bool
    code: int
    words: str
    board: dict
    seconds: float
    strangers: dict[str, str]


@pytest.fixture(scope="module")
def interrupted(project, other, kits, tmp_path_factory) -> Broken:
    """A run whose command is killed and given again, and whose passive site dies in mid-epoch and stays away."""
    out = World(tmp_path_factory.mktemp("served")).run
    given = ["run", project.folder, "--out", out, "--wait", 90, "--attempts", 1]
    killed = started(*given)
    wait_for_file(project.folder / "submitted" / f"{out.name}.json", killed)
    killed.kill()
    killed.communicate()
    process = started(*given)
    board = board_of(project, out)
    direct = read_json(project.kit("localhost") / "local" / "comm_config.json")["adhoc"]["resources"]["port"]
    wait_for_port(direct)  # it is there long before the first epoch, so the talks below miss none
    known = {"none": None, "foreign": other.kit("active"), "own": project.kit("active")}
    strangers = {who: refusal(project, direct, kit) for who, kit in known.items()}
    wait_for_epoch(board, 3, process)
    seconds = crash(kits["passive-1"], board)
    code, words = said(process, 120)
    return Broken(out, out.exists(), code, words, read_json(board), seconds, strangers)


@dataclasses.dataclass
class Alone:
    """What the server says of its sites while one is dead, and while the other hangs as well."""

    dead: list[str]
    hanging: list[str]
    job: dict


@pytest.fixture(scope="module")
def alone(project, kits, interrupted, tmp_path_factory) -> Alone:
    with admin_of(project, 60) as admin:
        dead = admin.silent(project.job.parties)
        state, _ = run_job(admin, project.folder / "job", tmp_path_factory.mktemp("alone"))
        kits["active"].send(signal.SIGSTOP)
        hanging = admin.silent(project.job.parties)
        kits["active"].send(signal.SIGCONT)
    return Alone(dead, hanging, dict(state))


@pytest.fixture(scope="module")
def resumed(project, kits, interrupted, alone):
    """The site is started again and the same command goes on; it dies again, and comes back while the command waits."""
    out, site = interrupted.out, project.kit("passive-1")
    kits["passive-1"] = start_kit(site, site / "process.log")
    process = started("run", project.folder, "--out", out, "--json")
    wait_for_epoch(board_of(project, out), interrupted.board["epoch"] + 3, process)
    crash(kits["passive-1"], board_of(project, out))
    epoch = read_json(board_of(project, out))["epoch"]
    assert process.poll() is None
    kits["passive-1"] = start_kit(site, site / "process.log")
    code, words = said(process, 240)
    assert code == 0, words
    return out, json.loads(words[words.index("{") :]), epoch  # after lines on how far it is


def test_a_site_that_dies_ends_the_job_in_time_with_a_clear_error(interrupted):
    assert interrupted.code == 2
    assert interrupted.words.strip().splitlines()[-1].startswith("privee: site passive-1 ")
    assert interrupted.board["lost"] == "passive-1"
    assert 3 <= interrupted.board["epoch"] < EPOCHS
    assert interrupted.seconds < ANSWER + 15
    assert not interrupted.written


def test_sites_that_do_not_answer_are_told_from_those_that_do(alone):
    """The server lists a dead site for ten minutes, and waits for a hanging one longer than it may take to answer."""
    assert alone.dead == ["passive-1"]
    assert alone.hanging == ["active", "passive-1"]


def test_a_job_that_cannot_start_without_a_dead_site_ends(alone):
    """NVFlare would look for the site at ever longer intervals."""
    assert alone.job["lost"] == "passive-1"
    assert alone.job["error"] == "site passive-1 left before the job started"


def test_a_command_waits_for_a_lost_site_and_submits_the_job_again(project, interrupted, resumed):
    out, outcome, epoch = resumed
    assert interrupted.board["epoch"] < epoch < EPOCHS  # it had gone on, and was not finished, when the site died again
    jobs = {folder.name for folder in (project.kit("localhost") / "store" / "jobs").iterdir()}
    taken = {folder.name for folder in project.kit("passive-1").iterdir() if folder.name in jobs}
    # the first command's, which the second found again after the first was killed; two of the third; one never started
    assert (len(jobs), len(taken)) == (4, 3)
    assert outcome["epochs"] == EPOCHS
    assert (out / "config.json").exists()


def test_the_direct_line_of_a_job_wants_a_certificate_as_well(interrupted):
    """Neither none nor one that another project's authority signed will do."""
    assert "certificate required" in interrupted.strangers["none"]
    assert "unknown ca" in interrupted.strangers["foreign"]
    assert "timed out" in interrupted.strangers["own"]


def test_after_two_crashes_the_weights_are_those_of_an_unbroken_local_run(resumed, project, tmp_path):
    out, outcome, _ = resumed
    dataset = load_dataset("digits")
    data = from_dataset(dataset, Partition.from_dict(dict(project.job.source["partition"])))
    settings = TrainingSettings(epochs=EPOCHS, learning_rate=0.01)
    expected = train_run(tmp_path / "local", data, "mlp", settings)
    assert outcome["test"] == json.loads(json.dumps(expected.as_dict()["test"]))
    places = {"coordinator": out / "coordinator"}
    places |= {site: project.kit(site) / "privee" / out.name for site in project.job.parties}
    for role, folder in places.items():
        name = "coordinator" if role == "coordinator" else f"parties/{role}"
        ours, theirs = (load_tensors(f / "model.safetensors", role) for f in (folder, tmp_path / "local" / name))
        assert ours.keys() == theirs.keys()
        assert all(float((ours[key] - theirs[key]).abs().max()) <= 1e-6 for key in ours)
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in metrics] == [*range(1, EPOCHS + 1), EPOCHS]


def test_each_part_is_at_its_role_alone(resumed, project):
    out, *_ = resumed
    assert not (out / "parties").exists()
    server = [f.name for f in project.kit("localhost").glob("privee/**/*.safetensors")]
    assert server == ["model.safetensors"]  # the coordinator's
    for site in project.job.parties:
        kept = {f.name for f in (project.kit(site) / "privee" / out.name).iterdir()}
        assert kept == {"model.safetensors", "party.json", "run.json"}
    keys = list(project.folder.glob("kits/*/startup/*.key"))
    assert len(keys) == 4
    assert all(f.parents[1].stat().st_mode & 0o077 == 0 for f in keys)


def test_the_trained_run_is_served(resumed, project, tmp_path):
    """From provisioning to a protected prediction: each party serves from its own kit, the gateway from `out`."""
    out, *_ = resumed
    world = make_world(out.parent)
    parties = {}
    try:
        for site in project.job.parties:
            folder, log = project.kit(site) / "privee" / out.name, out.parent / f"{site}.log"
            parties[site] = start_party(folder, ["--data", "dataset"], world.certs / site, log)
        addresses = {site: process.wait_ready().ready["address"] for site, process in parties.items()}
        with world.gateway(addresses, ["--defense", "privee-u:rho=0.1", "--releases", "5"]).wait_ready() as gateway:
            with privee.Client(gateway.address, key=world.api_key("consumer")) as client:
                release = client.infer(["17", "42"])
            assemble(tmp_path / "whole", out, {s: project.kit(s) / "privee" / out.name for s in project.job.parties})
            scores = open_run(tmp_path / "whole")[0].scores(torch.tensor([17, 42]))
            assert np.array_equal(np.argsort(release, axis=1), np.argsort(scores, axis=1))
            assert np.abs(np.asarray(release) - scores).max() > 0.1  # a release, not the scores
    finally:
        for process in parties.values():
            process.stop()
