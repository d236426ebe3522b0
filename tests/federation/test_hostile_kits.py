"""Attacks on running kits by those who hold another one: the admin, the server, another site."""

import dataclasses
import json
import time
import uuid
from pathlib import Path

import pytest
from benchmarks._red_team.attack_job import attack_job, shell
from benchmarks._shared.federation_jobs import digits_job, free_port
from nvflare.apis.fl_exception import UnsafeComponentError
from nvflare.apis.workspace import Workspace
from nvflare.app_common.default_component_policy import DEFAULT_CLASS_ALLOW_LIST
from nvflare.app_common.widgets.component_path_authorizer import ComponentPathAuthorizer

from privee.atomic import read_json, write_json
from privee.errors import PriveeError
from privee.federation.kits.admin import admin_of
from privee.federation.kits.policy import CONTROLLER, EXECUTOR, write_job
from privee.federation.kits.project import Project, create_project
from privee.federation.kits.run import follow_job, wait_for_sites
from privee.federation.kits.start_kit import local_kits, prepare_kit
from privee.federation.wire.frames import Frame, Note, encode
from privee.federation.wire.guard import wrong_app, wrong_job
from tests._support.federation import SESSION
from tests._support.hostile_kit import BENT, ordered, plant, zipped

pytestmark = pytest.mark.slow
EPOCHS = 100
JOB_ID = "0b1f8a52-9d5c-4c54-9e0e-3f6f0a1c2d3e"
DROPPED = 1.0  # seconds to wait for a reply that shall not come


@dataclasses.dataclass
class Found:
    """What attacks on running kits left behind."""

    markers: list[str]
    attacks: dict[str, str]
    bent: dict
    ordinary: dict
    by_server: dict[str, str]
    by_site: dict[str, str]
    step_by_site: str
    kept: list[str]
    silent: list[str]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    job = digits_job("logistic", 3, epochs=EPOCHS)
    job = dataclasses.replace(job, start_seconds=30.0, answer_seconds=30.0)
    return create_project(tmp_path_factory.mktemp("kits") / "project", job, port=free_port(), direct_port=free_port())


@pytest.fixture(scope="module")
def found(project, tmp_path_factory) -> Found:
    """The server's and one site's kit are in the wrong hands, and so is the admin's."""
    folder, active = tmp_path_factory.mktemp("attacks"), project.kit("active")
    hostile = [project.kit(name) for name in (project.server, "passive-1")]
    for kit in hostile:
        plant(kit)
    with local_kits(project), admin_of(project, 120) as admin:
        wait_for_sites(admin, project.job.parties, 120)
        by = [asked(kit, orders(active, folder)) for kit in hostile]
        forged = {"topic": "train.delete_run", "headers": {"job_id": JOB_ID}, "as": "server"}
        (active / JOB_ID).mkdir()
        asked(hostile[1], {"forged": forged})
        jobs = {at: admin.submit(attack_job(folder / f"job-{at}", project.job, at)) for at in ("sites", "server")}
        jobs["bent"] = admin.submit(write_job(folder / "bent", dataclasses.replace(project.job, run=BENT)))
        ordinary = admin.submit(write_job(folder / "job", project.job))
        step = step_of_another(hostile[0] / "privee" / "run.progress.json", ordinary, hostile[1])
        state, _ = follow_job(admin, ordinary, folder / "ordinary")
        assert all(admin.wait_over(job, 90) for job in jobs.values())
        bent, _ = follow_job(admin, jobs["bent"], folder / "fetched")
        by[0] |= asked(hostile[0], replayed(active / ordinary / "app_active"))
        return Found(
            markers=sorted(one.name for one in folder.glob("at-*")),
            attacks={at: admin.status(job) for at, job in jobs.items()},
            bent=dict(bent),
            ordinary=dict(state),
            by_server=by[0],
            by_site=by[1],
            step_by_site=step,
            kept=sorted(one.name for one in active.iterdir()),
            silent=admin.silent(project.job.parties),
        )


def orders(victim: Path, folder: Path) -> dict[str, dict]:
    """What a server, or who poses as one, may try without the admin's kit."""
    unsigned = folder / "unsigned"
    config = {"format_version": 2, "executors": [{"tasks": ["x"], "executor": shell(folder / "at-unsigned")}]}
    write_json(unsigned / "config" / "config_fed_client.json", config)
    job, marker = str(uuid.uuid4()), victim / "keepsake"
    marker.mkdir(exist_ok=True)
    meta = {"job_id": job, "byoc": True}
    return {
        "key": {"topic": "sys.shell", "body": "cat startup/client.key"},
        "file": {"topic": "sys.shell", "body": f"cat {victim / 'local' / 'resources.json'}"},
        "where": {"topic": "sys.report_env"},
        "log": {"topic": "sys.configure_site_log", "body": "DEBUG"},
        "delete": {"topic": "train.delete_run", "headers": {"job_id": "keepsake"}},
        "deploy": {"topic": "train.deploy", "app": str(unsigned), "headers": {"job_id": job, "job_meta": meta}},
        "start": {"topic": "train.start_job", "body": {}, "headers": {"job_id": job, "job_meta": meta}},
        "net": {"topic": "config_vars", "channel": "_net_manager"},
    }


def replayed(app: Path) -> dict[str, dict]:
    """An app that the admin did sign, as a job whose folder would be the kit's settings."""
    meta = {"job_id": "local"}
    return {"replay": {"topic": "train.deploy", "app": str(app), "headers": {"job_id": "local", "job_meta": meta}}}


def asked(kit: Path, wanted: dict[str, dict]) -> dict[str, str]:
    sent = [{"to": "active", "seconds": DROPPED} | order for order in wanted.values()]
    return dict(zip(wanted, ordered(kit, sent), strict=True))


def step_of_another(board: Path, job: str, kit: Path) -> str:
    """A site poses as the coordinator towards another one in the middle of a training, and floods the coordinator."""
    end = time.monotonic() + 120
    while not board.exists() or read_json(board)["phase"] != "training":
        assert time.monotonic() < end, "the training did not start"
        time.sleep(0.05)
    data = encode(Frame(SESSION, 1, Note("hello"))).hex()
    order = {"to": f"active.{job}", "channel": "privee", "topic": "step", "hex": data, "seconds": DROPPED}
    flood = {"to": f"server.{job}", "channel": "privee", "topic": "step", "hex": "00" * 50_000, "times": 400}
    return ordered(kit, [order, flood])[0]


def test_an_admin_starts_no_process_anywhere(found):
    assert found.markers == []
    assert all(status.startswith("FINISHED:") for status in found.attacks.values())
    assert "FINISHED:COMPLETED" not in found.attacks.values()


def test_an_ordinary_run_beside_the_attacks_finishes_and_all_sites_stay(found):
    assert found.ordinary["outcome"]["epochs"] == EPOCHS
    assert found.silent == []


def test_a_site_that_sends_something_else_ends_its_job_by_its_name(found, project):
    """Over the real line; the parts of the others hold no model."""
    assert found.bent["error"].startswith("site passive-1 sent an embedding of shape (128, 500)")
    assert not list(project.folder.glob(f"kits/*/privee/{BENT}/**/model.safetensors"))


def test_a_server_reads_no_file_of_a_sites_and_deletes_none(found):
    assert "PRIVATE KEY" not in found.by_server["key"]
    assert "class_allow_list" not in found.by_server["file"]
    assert {found.by_server[name] for name in ("key", "file", "where", "log")} == {"ok invalid_request"}
    assert found.by_server["delete"] == "ok this is not the id of a job"
    assert not found.by_server["net"].startswith("ok")
    assert {"keepsake", "local", "startup"} <= set(found.kept)


def test_a_server_deploys_no_app_that_the_admin_did_not_sign(found):
    assert found.by_server["deploy"] == "ok unsigned job rejected - signed deploy is required"
    assert found.by_server["start"].startswith("ok NVFLARE_ERROR")
    assert found.by_server["replay"] == "ok this is not the id of a job"


def test_another_site_gets_no_answer_at_all(found):
    assert set(found.by_site.values()) == {"timeout None"}
    assert not found.step_by_site.startswith("ok")


def test_another_site_does_nothing_in_the_servers_name(found, project):
    """The server knows who sent it; from itself the site would have taken it."""
    assert JOB_ID in found.kept
    log = (project.kit(project.server) / "log.txt").read_text()
    assert "bound to origin passive-1, not message origin server" in log


# --- the settings of a kit -------------------------------------------------------------------------------------------

REFUSED = [
    "privee.processes.ChildProcess",
    "privee.federation.kits.start_kit.start_kit",
    "privee.federation.site.executor.Path",
    "privee.federation.site.executor.PartyExecutorX",
    "privee.federation.result_filter.make_defense",
    "privee.federation.wire.guard.SiteGuard",
    "subprocess.Popen",
    *DEFAULT_CLASS_ALLOW_LIST,
]


def allowed(project: Project, kit: str, component: dict) -> bool:
    """As NVFlare decides, from the kit's own files."""
    try:
        ComponentPathAuthorizer().authorize_component_config(component, workspace=Workspace(str(project.kit(kit))))
    except UnsafeComponentError:
        return False
    return True


@pytest.mark.parametrize("key", ["path", "class_path"])
def test_each_kit_allows_the_classes_its_role_needs_and_no_other(project, key):
    site = [EXECUTOR, "privee.federation.result_filter.ReleaseFilter"]
    wanted = {project.server: [CONTROLLER], "active": site, "passive-1": site}
    for kit, classes in wanted.items():
        tried = {*REFUSED, CONTROLLER, *site}
        assert {one for one in tried if allowed(project, kit, {key: one, "args": {}})} == set(classes)
        assert read_json(project.kit(kit) / "local" / "resources.json")["class_allow_list"] == classes
    assert not allowed(project, "active", {"name": "PartyExecutor"})


@pytest.mark.parametrize("job_id", ["local", "startup", "../x", "", 5, f"{JOB_ID}/..", f"{JOB_ID}\n"])
def test_a_jobs_id_is_no_folder_of_the_kit(job_id):
    assert wrong_job(job_id, None) == "this is not the id of a job"


def test_a_job_goes_by_one_id():
    one, other = str(uuid.uuid4()), str(uuid.uuid4())
    assert wrong_job(one, {"job_id": one}) is None
    assert wrong_job(one, {"job_id": other}) == "the job goes by two ids"


@pytest.mark.parametrize("name", ["custom/x.py", "config/x.conf", "config/x.yml", "x.json", "config/deep/x.json"])
def test_an_app_is_configuration_in_json(tmp_path, name):
    config = tmp_path / "app" / "config" / "config_fed_client.json"
    write_json(config, {})
    (tmp_path / "app" / ".__nvfl_sig.json").write_text("{}")
    assert wrong_app(zipped(tmp_path / "app")) is None
    target = tmp_path / "app" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("{}")
    assert wrong_app(zipped(tmp_path / "app")) == "a job may bring JSON files in config/ and nothing else"


@pytest.mark.parametrize("data", [b"", b"PK", "text", None, b"x" * 1000])
def test_what_is_no_app_is_refused(data):
    assert wrong_app(data) == "this is not an app"


def test_a_kit_of_an_older_version_is_not_started(project, tmp_path):
    for name, change in (("active", "components"), (project.server, "class_allow_list")):
        kit = tmp_path / name
        (kit / "local").mkdir(parents=True)
        (kit / "startup").mkdir()
        file = "fed_server.json" if name == project.server else "fed_client.json"
        (kit / "startup" / file).write_text("{}")
        resources = read_json(project.kit(name) / "local" / "resources.json")
        resources[change] = [] if change == "components" else ["privee.federation."]
        (kit / "local" / "resources.json").write_text(json.dumps(resources))
        with pytest.raises(PriveeError, match="lets others in"):
            prepare_kit(kit)
