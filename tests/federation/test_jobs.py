"""Jobs over NVFlare: of some of a project's sites, in the simulator, and one that is not ours with the filter in it."""

import dataclasses
import json
import shutil
import signal
import socket
from pathlib import Path

import numpy as np
import psutil
import pytest
from benchmarks._shared.federation_jobs import digits_job, free_port
from typer.testing import CliRunner

from privee.atomic import read_json, write_json
from privee.cli.federation import app
from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteLostError
from privee.federation.kits import run
from privee.federation.kits.admin import Admin, admin_of
from privee.federation.kits.policy import write_job
from privee.federation.kits.project import Project, create_project
from privee.federation.kits.run import OVER_SECONDS, run_job, wait_for_sites
from privee.federation.kits.simulator import assemble
from privee.federation.kits.start_kit import local_kits, parts_of
from privee.vfl.defaults import filled_settings, left_open
from privee.vfl.experiment import train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.own_tables import from_tables
from privee.vfl.training import TrainingSettings
from tests._support import scoring_job as scoring
from tests._support.federation import largest_difference, line_to, refusal, said, started, write_tables

JOB = dataclasses.replace(digits_job("mlp", 3, run="three"), answer_seconds=60.0)
FILTER = {
    "path": "privee.federation.result_filter.ReleaseFilter",
    "args": {"defense": "privee-u:rho=0.1", "keys": ["scores"]},
}


def install_scoring(project: Project) -> None:
    """What another project's sites do: put their own code into their kits and allow it; one demands the filter."""
    for name in (project.server, *project.job.parties):
        local = project.kit(name) / "local"
        (local / "custom").mkdir()
        shutil.copyfile(scoring.__file__, local / "custom" / "scoring_job.py")
        resources = read_json(local / "resources.json")
        resources["class_allow_list"] += ["scoring_job.Scorer", "scoring_job.Collector"]
        write_json(local / "resources.json", resources)
    demanded = {"scopes": [{"name": "releases", "task_result_filters": [FILTER]}], "default_scope": "releases"}
    write_json(project.kit("passive-2") / "local" / "privacy.json", demanded)


def scoring_job(folder: Path) -> Path:
    """The filter is in the job for two sites; one of them has no scores that could be protected."""
    scorer = {"tasks": [scoring.TASK], "executor": {"path": "scoring_job.Scorer", "args": {"broken": ["passive-1"]}}}
    site = {"format_version": 2, "executors": [scorer], "components": []}
    filtered = site | {"task_result_filters": [{"tasks": [scoring.TASK], "filters": [FILTER]}]}
    flow = {"id": "collector", "path": "scoring_job.Collector", "args": {}}
    write_json(folder / "app_server" / "config" / "config_fed_server.json", {"format_version": 2, "workflows": [flow]})
    write_json(folder / "app_filtered" / "config" / "config_fed_client.json", filtered)
    write_json(folder / "app_plain" / "config" / "config_fed_client.json", site)
    places = {
        "app_server": ["server"],
        "app_filtered": ["active", "passive-1"],
        "app_plain": ["passive-2", "passive-3"],
    }
    everybody = [*places["app_filtered"], *places["app_plain"]]
    meta = {"name": "scoring", "deploy_map": places, "min_clients": 4, "mandatory_clients": everybody}
    write_json(folder / "meta.json", meta | {"resource_spec": {}})
    return folder


def smuggling_job(folder: Path, marker: Path) -> Path:
    """A job that brings code of its own, for one site."""
    flow = {"id": "collector", "path": "scoring_job.Collector", "args": {}}
    write_json(folder / "app_server" / "config" / "config_fed_server.json", {"format_version": 2, "workflows": [flow]})
    smuggled = {"tasks": ["x"], "executor": {"path": "smuggled.Smuggled", "args": {"marker": str(marker)}}}
    write_json(folder / "app" / "config" / "config_fed_client.json", {"format_version": 2, "executors": [smuggled]})
    (folder / "app" / "custom").mkdir()
    code = """from pathlib import Path

from nvflare.apis.executor import Executor


class Smuggled(Executor):
    def __init__(self, marker):
        super().__init__()
        Path(marker).touch()
"""
    (folder / "app" / "custom" / "smuggled.py").write_text(code)
    places = {"app_server": ["server"], "app": ["active"]}
    meta = {"name": "smuggling", "deploy_map": places, "min_clients": 1, "mandatory_clients": ["active"]}
    write_json(folder / "meta.json", meta | {"resource_spec": {}})
    return folder


@dataclasses.dataclass
class Found:
    """What jobs on the same running kits left behind."""

    received: dict[str, dict]
    run: Path
    read: str
    smuggled: bool
    status: str
    strangers: dict[str, str]
    elsewhere: str


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Found:
    """Four sites; the job that is not ours runs beside a training of three of them."""
    folder = tmp_path_factory.mktemp("jobs")
    project = create_project(folder / "project", digits_job("mlp", 4), port=free_port(), direct_port=free_port())
    install_scoring(project)
    foreign = create_project(folder / "foreign", project.job, port=project.port)  # the same names, another authority
    with local_kits(project), admin_of(project, 120) as admin:
        wait_for_sites(admin, project.job.parties, 120)
        known = {"none": None, "foreign": foreign.kit("active"), "own": project.kit("active")}
        strangers = {who: refusal(project, project.port, kit) for who, kit in known.items()}
        elsewhere = from_another_address(project.port)
        other = admin.submit(scoring_job(folder / "scoring"))
        state, coordinator = run_job(admin, write_job(folder / "job", JOB), folder / "three")
        assert "outcome" in state, state
        assert admin.wait_over(other, OVER_SECONDS)
        _, place = admin.fetch(other, folder / "scored")
        received = json.loads((place.parents[1] / scoring.RECEIVED).read_text())
        read = what_an_admin_reads(admin, "active", "local/resources.json")
        marker = folder / "smuggled"
        smuggling = admin.submit(smuggling_job(folder / "smuggling", marker))
        assert admin.wait_over(smuggling, 60)
        status = admin.status(smuggling)
        parts = parts_of(project)
        assemble(folder / "run", coordinator, {site: parts[site] / JOB.run for site in JOB.parties})
    return Found(received, folder / "run", read, marker.exists(), status, strangers, elsewhere)


def from_another_address(port: int) -> str:
    """What happens to somebody who does not call by way of loopback."""
    found = [one.address for card in psutil.net_if_addrs().values() for one in card if one.family == socket.AF_INET]
    others = [address for address in found if not address.startswith("127.")]
    if not others:
        return "this machine has no other address"
    try:
        with socket.create_connection((others[0], port), timeout=5):
            return "let in"
    except OSError as error:
        return str(error).lower()


def what_an_admin_reads(admin: Admin, site: str, file: str) -> str:
    """Through NVFlare's own remote commands."""
    try:
        return str(admin._quietly(admin._session.cat_target, site, None, file))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.slow
def test_an_admin_neither_reads_a_sites_files_nor_runs_other_code_there(found):
    assert "class_allow_list" not in found.read
    assert "invalid_request" in found.read  # the guard took the command away before anybody asked for rights
    assert not found.smuggled
    assert found.status == "FINISHED:FAILED_TO_RUN"


@pytest.mark.slow
def test_a_wrong_certificate_is_refused(found):
    """Only certificates that this project's authority signed get in; without any, nobody does."""
    assert "certificate required" in found.strangers["none"]
    assert "unknown ca" in found.strangers["foreign"]
    assert "timed out" in found.strangers["own"]


@pytest.mark.slow
def test_the_server_listens_on_loopback_alone(found):
    if found.elsewhere == "this machine has no other address":
        pytest.skip(found.elsewhere)
    assert "refused" in found.elsewhere


@pytest.mark.slow
def test_some_of_a_projects_sites_train_as_in_one_process(found, tmp_path):
    data = from_dataset(load_dataset("digits"), Partition.from_dict(dict(JOB.source["partition"])))
    train_run(tmp_path / "local", data, JOB.model, JOB.training)
    assert largest_difference(tmp_path / "local", found.run) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("site", ["active", "passive-2"])
def test_with_the_filter_a_server_receives_releases(found, site):
    """In the job's config at one site, demanded by the other's own privacy.json although the job has none."""
    came, scores = found.received[site], scoring.scores_of(site)
    assert came["code"] == "OK"
    assert set(came["data"]) == {"scores"}
    assert came["meta"] == {}
    release = np.asarray(came["data"]["scores"])
    assert release.shape == scores.shape
    assert np.array_equal(np.argsort(release, axis=1), np.argsort(scores, axis=1))
    assert not np.isin(release, scores).any()


@pytest.mark.slow
def test_what_cannot_be_protected_never_arrives(found):
    came = found.received["passive-1"]
    assert came["code"] == "TASK_RESULT_FILTER_ERROR"
    assert came["data"] is None
    assert "scores" not in came["all"]


@pytest.mark.slow
def test_without_the_filter_scores_leave(found):
    """So it is the filter, and nothing else, that keeps them."""
    came = found.received["passive-3"]
    assert np.array_equal(came["data"]["scores"], scoring.scores_of("passive-3"))
    assert set(came["data"]) == {"scores", "features"}
    assert came["meta"] == {"note": "of the site"}


@pytest.mark.slow
def test_simulated_sites_align_their_tables_and_train_as_in_one_process(tmp_path):
    """Pipelined, so that this crosses processes too."""
    names = ("bank", "shop", "phone")
    files = write_tables(tmp_path, names)
    given = [word for name in names for word in ("--party", f"{name}={files[name]}")]
    more = ["--active", "bank", "--id", "customer", "--label", "digit", "--model", "logistic", "--epochs", 2]
    process = started("simulate", *given, *more, "--pipeline", "--out", tmp_path / "run", "--json")
    code, words = said(process, 200)
    assert code == 0, words
    columns = dict.fromkeys(names, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="digit", test_share=0.2, seed=0)
    left = left_open({"epochs": 2}, dataset=None)  # what was not said is chosen at every site, and here
    counts = {"rows": len(data.train), "n_classes": len(data.class_names)}
    settings = filled_settings(TrainingSettings(epochs=2, pipeline=True), left, model="logistic", **counts)
    assert settings.scaling == "standard"
    train_run(tmp_path / "local", data, "logistic", settings)
    assert largest_difference(tmp_path / "local", tmp_path / "run") <= 1e-6
    assert not (tmp_path / "run.parts").exists()


# --- starting and stopping a kit ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_started_kit_ends_by_ctrl_c_with_all_it_started_and_runs_once(tmp_path):
    project = create_project(tmp_path / "project", digits_job("logistic", 2), port=free_port())
    process = started("start", project.kit("localhost"))
    try:
        with admin_of(project, 120):
            server = psutil.Process(process.pid).children(recursive=True)
        code, words = said(started("start", project.kit("localhost")), 60)
        assert code == 2
        assert words.strip().splitlines()[-1].endswith("kits/localhost runs already on this machine; stop that first")
        process.send_signal(signal.SIGINT)
        code, words = said(process, 30)
    finally:
        process.kill()
    assert code == 0
    assert "Traceback" not in words
    assert server
    assert not any(one.is_running() for one in server)


# --- how long a site may take --------------------------------------------------------------------------------------


def test_reading_and_aligning_have_a_time_of_their_own(tmp_path):
    job = dataclasses.replace(digits_job("logistic", 2), answer_seconds=30.0, align_seconds=0.2)
    exchange, loop = line_to(job, tmp_path)
    loop.tamper = lambda site, data: [] if site == "passive-1" else [data]
    with pytest.raises(SiteLostError, match=r"site passive-1 did not answer in 0\.2 s"):
        coordinate(job, exchange, tmp_path / "coordinator")


def test_the_time_for_aligning_is_set_on_the_command_line(tmp_path):
    made, times = tmp_path / "project", ["--align-seconds", "45", "--answer-seconds", "7"]
    given = ["init", str(made), "--party", "bank", "--party", "shop", "--active", "bank", *times]
    assert CliRunner().invoke(app, given).exit_code == 0
    job = Project.open(made).job
    assert (job.align_seconds, job.answer_seconds) == (45.0, 7.0)
    given = ["simulate", "digits", "--out", str(tmp_path / "run"), "--align-seconds", "0"]
    refused = CliRunner().invoke(app, given).exception
    assert str(refused) == "align_seconds must be above 0, got 0.0"


class SilentJob:
    """A server that calls a job running whose process has stopped answering, as NVFlare does."""

    def __init__(self, says: list[dict]) -> None:
        self.says, self.aborted = says, False

    def status(self, job_id: str) -> str:
        return "FINISHED:ABORTED" if self.aborted else "RUNNING"

    def progress(self, job_id: str) -> dict:
        return self.says.pop(0) if self.says else {}

    def abort(self, job_id: str) -> None:
        self.aborted = True

    def wait_over(self, job_id: str, seconds: float) -> bool:
        return self.aborted

    def fetch(self, job_id: str, folder: Path) -> tuple[dict, Path]:
        return {}, folder


@pytest.mark.parametrize(("last", "lost"), [({"phase": "training"}, "coordinator"), ({"outcome": {}}, None)])
def test_a_job_that_falls_silent_is_given_up(tmp_path, monkeypatch, last, lost):
    monkeypatch.setattr(run, "SILENT_SECONDS", 0.5)
    monkeypatch.setattr(run, "EVERY", 0.05)
    admin = SilentJob([{"phase": "preparing"}, last])
    state, _ = run.follow_job(admin, "x", tmp_path)
    assert admin.aborted
    assert (state.get("lost"), "outcome" in state) == (lost, lost is None)
