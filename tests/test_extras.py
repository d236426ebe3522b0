"""Without an extra, one line says what to install: on import, and on the command line."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from privee.extras import PACKAGES
from privee.version import __version__

ROOT = Path(__file__).parents[1]
EXTRAS = {
    "vfl": "vfl",
    "attacks": "audit",
    "audit": "audit",
    "paper": "audit",
    "party": "party",
    "gateway": "gateway",
    "federation": "federation",
    "client": "client",
}
BLOCK = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1].split(','))); sys.argv[1:] = sys.argv[2:]\n"
IMPORT = "import importlib\ntry: importlib.import_module(sys.argv[1])\nexcept ImportError as error: print(error)"
COMMAND = "from privee.cli import main\nsys.argv[0] = 'privee'\nmain()"


def requirements(extra: str) -> set[str]:
    """What an extra installs by itself and by those it names."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    found = set()
    for one in extras[extra]:
        name = re.split(r"[>=<;\s]", one)[0]
        if name.startswith("privee["):
            found |= set().union(*(requirements(other) for other in name[7:-1].split(",")))
        else:
            found.add(name.partition("[")[0])
    return found


def required(package: str) -> list[str]:
    """The modules that a package asks for in its first line."""
    text = (ROOT / "src" / "privee" / package / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'"([^"]+)"', re.search(r"require\((.*?)extra=", text, re.DOTALL)[1])[1:]


def python(code: str, absent: list[str], *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", BLOCK + code, ",".join(absent), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)  # noqa: S603


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_an_import_says_which_extra(package, extra):
    modules = required(package)
    told = python(IMPORT, modules, f"privee.{package}")
    first = PACKAGES.get(modules[0], modules[0])
    assert told.stdout == f"privee.{package} needs {first}: pip install 'privee[{extra}]'\n", told.stderr


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_the_extra_brings_what_is_asked_for(package, extra):
    packages = {PACKAGES.get(module, module) for module in required(package)}
    assert packages <= requirements(extra)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("gateway serve run --epsilon 3", "privee: privee.gateway needs torch: pip install 'privee[gateway]'\n"),
        ("ledger init", "privee: privee.gateway needs torch: pip install 'privee[gateway]'\n"),
        ("paper list", "privee: privee.paper needs torch: pip install 'privee[audit]'\n"),
        ("tune digits", "privee: privee.vfl needs torch: pip install 'privee[vfl]'\n"),
    ],
)
def test_a_command_says_which_extra(command, line):
    told = python(COMMAND, ["torch"], *command.split())
    assert (told.returncode, told.stdout, told.stderr) == (2, "", line)


def test_the_command_line_lists_the_gateway_without_it():
    told = python(COMMAND, ["fastapi"], "--help")
    assert told.returncode == 0
    assert "gateway" in told.stdout


def test_the_version_needs_no_extra():
    extra = [name for name in requirements("cli") if name != "pyarrow"]
    told = python(COMMAND, extra, "--version")
    assert (told.returncode, told.stdout, told.stderr) == (0, f"privee {__version__}\n", "")
    for arguments in ((), ("protect", "scores.csv")):
        told = python(COMMAND, extra, *arguments)
        line = "privee: the command line needs typer: pip install 'privee[cli]'\n"
        assert (told.returncode, told.stdout, told.stderr) == (1, "", line)
