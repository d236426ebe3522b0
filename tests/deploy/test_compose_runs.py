"""The commands of compose.yaml as processes, without a container engine: PostgreSQL, two parties, one prediction.

Paths inside containers become the host's by the volumes and secrets that the file itself mounts, so that what is not
mounted is not found; names of services become loopback.
"""

import os
import socket
import sys
from pathlib import Path

import pytest

import privee
from privee.processes import ChildProcess, ServerProcess
from tests._support.commands import good
from tests._support.deployments import COMPOSE

SERVICES = COMPOSE["services"]
ROWS = 400
PRIVEE = (sys.executable, "-m", "privee")


def tables(folder: Path) -> None:
    """Customers of a bank and of a shop; the risk depends on both."""
    draws = privee.seeded(7)
    values = [[float(one) for one in draws.uniform((ROWS,))] for _ in range(4)]
    bank, shop = ["customer,income,age,risk"], ["customer,spent,visits"]
    for k, (income, age, spent, visits) in enumerate(zip(*values, strict=True)):
        bank.append(f"c{k},{income},{age},{'high' if income < spent else 'low'}")
        shop.append(f"c{k},{spent},{visits}")
    (folder / "bank.csv").write_text("\n".join(bank) + "\n")
    (folder / "shop.csv").write_text("\n".join(shop) + "\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """What must lie beside compose.yaml, made as docs/deploy.md says."""
    folder = tmp_path_factory.mktemp("deploy")
    for name in ("data", "secrets"):
        (folder / name).mkdir()
    tables(folder / "data")
    key = folder / "secrets" / "ledger.key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    named = ("--party", "bank=data/bank.csv", "--party", "shop=data/shop.csv", "--active", "bank", "--id", "customer")
    good("train", *named, "--label", "risk", "--model", "logistic", "--epochs", "3", "--out", "run", cwd=folder)
    parties = ("--party", "bank", "--party", "shop")
    good("certs", "init", "certs", *parties, "--name", "localhost", "--name", "127.0.0.1", cwd=folder)
    return folder


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def mounts(name: str, place: Path, view: Path) -> dict[str, str]:
    """Paths in a service's container and where they are here: a folder of links to what it mounts, and no more."""
    service, found = SERVICES[name], {}
    for volume in service.get("volumes", []):
        source, inside = volume.split(":")[:2]
        link = view / name / inside.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to((place / source).resolve())
        assert link.exists(), volume
    for secret in service.get("secrets", []):
        file = place / COMPOSE["secrets"][secret]["file"]
        found[f"/run/secrets/{secret}"] = str(file)
    return found | {inside: str(view / name / inside.lstrip("/")) for inside in ("/srv", "/certs")}


def translated(words: list[str], paths: dict[str, str], addresses: dict[str, str]) -> list[str]:
    found = []
    for word in words:
        option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        for inside, here in paths.items():
            if value == inside or value.startswith(inside + "/"):
                value = here + value[len(inside) :]
        for name, address in addresses.items():
            value = value.replace(name, address)
        found.append(f"{option}{equals}{value}")
    return found


@pytest.mark.slow
def test_the_commands_of_the_compose_file_answer_a_prediction(place, postgres_url, tmp_path):
    view, ports = tmp_path / "view", {name: free_port() for name in ("bank", "shop", "gateway")}
    env = {"PRIVEE_LEDGER_URL": postgres_url}
    assert set(SERVICES["gateway"]["environment"]) == {"PRIVEE_LEDGER_URL", "PGPASSFILE"}

    def command(name: str, addresses: dict[str, str]) -> list[str]:
        return translated(SERVICES[name]["command"], mounts(name, place, view), addresses)

    started: list[ChildProcess] = []
    try:
        setup = ChildProcess([*PRIVEE, *command("ledger", {})], tmp_path / "ledger.log", env)
        assert setup.wait(120) == 0, (tmp_path / "ledger.log").read_text()
        for name in ("bank", "shop"):
            words = command(name, {"0.0.0.0:7001": f"127.0.0.1:{ports[name]}"})
            started.append(ServerProcess(words, tmp_path / f"{name}.ready", tmp_path / f"{name}.log"))
        where = {f"{name}:7001": f"127.0.0.1:{ports[name]}" for name in ("bank", "shop")}
        anywhere = {"0.0.0.0": "127.0.0.1", "8443": str(ports["gateway"])}  # noqa: S104
        words = command("gateway", where | anywhere)
        started.append(ServerProcess([*words, "--tls"], tmp_path / "g.ready", tmp_path / "g.log", env=env))
        for server in started:
            server.wait_ready()
        asked = ("keys", "create", "me", "--role", "consumer", "--scope", "risk", "--url", postgres_url)
        key = good(*asked, "--key", place / "secrets" / "ledger.key", cwd=tmp_path).split()[-1]
        ca = place / "certs" / "coordinator" / "ca.pem"
        with privee.Client(started[-1].address, key, verify=str(ca), model="risk") as client:
            release = client.infer(["c17", "c42"])
        assert release.shape == (2, 2)
        assert release.defense == "ordered-dp:epsilon=1"
        assert "c17" not in (tmp_path / "g.log").read_text()
    finally:
        for server in reversed(started):
            server.stop()


def test_what_a_service_does_not_mount_it_does_not_find(place, tmp_path):
    """The gateway's container has no party's folder and no table."""
    paths = mounts("gateway", place, tmp_path)
    run = Path(paths["/srv"]) / "run"
    assert sorted(one.name for one in run.iterdir()) == ["config.json", "coordinator"]
    assert sorted(one.name for one in Path(paths["/certs"]).iterdir()) == ["coordinator"]
    bank = Path(mounts("bank", place, tmp_path)["/srv"])
    assert sorted(one.name for one in (bank / "data").iterdir()) == ["bank.csv"]
