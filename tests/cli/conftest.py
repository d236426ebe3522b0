"""`privee` run in the test's own process, in an empty folder."""

import io
import json
import sys

import pytest
import typer

from privee.cli import app as application


@pytest.fixture(scope="session")
def commands():
    """All commands, put together once: that takes longer than running one."""
    return typer.main.get_command(application.app)


@pytest.fixture
def privee(tmp_path, monkeypatch, capsys, commands):
    """Runs a command line in an empty folder; gives exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(application, "app", commands)
    monkeypatch.setenv("USER", "somebody-else")
    for name in ("PRIVEE_LEDGER_URL", "PRIVEE_LEDGER_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["privee", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        code = application.run()
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def good(privee):
    def run(*arguments: object, given: str = "") -> str:
        code, out, err = privee(*arguments, given=given)
        assert code == 0, err
        return out

    return run


@pytest.fixture
def told(good):
    return lambda *arguments, given="": json.loads(good(*arguments, "--json", given=given))
