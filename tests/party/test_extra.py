"""What a party runs needs no web server: `privee[party]` installs none."""

import subprocess
import sys
import tomllib
from pathlib import Path

WEB = ("fastapi", "starlette", "uvicorn", "jinja2", "limits", "prometheus_client", "alembic", "httpx")
SCRIPT = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))  # importing these fails now
import privee.party, privee.pki
for package in (privee.party, privee.pki):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
from typer.testing import CliRunner
from privee.cli.app import app
for command in ("party serve --help", "certs init --help", "party serve . --data x.csv --listen 127.0.0.1:0"):
    done = CliRunner().invoke(app, command.split())
    print(done.exit_code, done.exception)
"""


def test_a_party_runs_without_what_the_gateway_needs():
    command = [sys.executable, "-c", SCRIPT, ",".join(WEB)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603
    assert [line.partition(" ")[0] for line in told] == ["0", "0", "1"]
    assert "holds no party.json" in told[-1]


def test_its_extra_names_none_of_them():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]

    def needed(extra: str) -> set[str]:
        found = set()
        for one in extras[extra]:
            name = one.partition(">")[0].partition("=")[0].partition(";")[0].strip()
            if name.startswith("privee["):
                for other in name[7:-1].split(","):
                    found |= needed(other)
            else:
                found.add(name.partition("[")[0])
        return found

    assert needed("party").isdisjoint(WEB)
    assert {"grpcio", "torch", "sqlalchemy"} <= needed("party")
    assert "fastapi" in needed("gateway")
