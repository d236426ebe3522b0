"""The wheel and the source package hold all that the source tree has, and say what pyproject.toml says."""

import ast
import email
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from privee.version import __version__
from tests._support.commands import start

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BUILD = "from setuptools import build_meta as b; b.build_wheel('dist'); b.build_sdist('dist')"
TOP = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "constraints.txt")


def sources(folder: Path) -> set[str]:
    """Files of the package below a folder, as the wheel should have them."""
    return {
        str(file.relative_to(folder))
        for file in (folder / "privee").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def built(copy: Path) -> Path:
    command = [sys.executable, "-c", BUILD]
    subprocess.run(command, cwd=copy, check=True, capture_output=True, timeout=300)  # noqa: S603
    return copy / "dist"


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """What is needed to build, and one data file in a folder that has such already."""
    place = tmp_path_factory.mktemp("source")
    for name in TOP:
        shutil.copy(ROOT / name, place)
    for name in ("src", "docs", "deploy"):
        left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "images", "paper" if name == "docs" else "")
        shutil.copytree(ROOT / name, place / name, ignore=left_out)
    return place


@pytest.fixture(scope="module")
def dist(copy) -> Path:
    return built(copy)


@pytest.fixture(scope="module")
def wheel(dist) -> zipfile.ZipFile:
    (file,) = dist.glob("*.whl")
    with zipfile.ZipFile(file) as found:
        yield found


def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    return email.message_from_bytes(wheel.read(f"privee-{__version__}.dist-info/METADATA"))


def test_the_wheel_has_every_file_of_the_source_tree(wheel):
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    there = sources(ROOT / "src")
    assert {"privee/py.typed", "privee/paper/printed.json", "privee/gateway/ledger/migrations/script.py.mako"} <= there
    assert sum(name.endswith(".html") for name in there) > 30
    assert packed == there


def test_the_source_package_has_them_too_and_no_tests(dist):
    (file,) = dist.glob("*.tar.gz")
    with tarfile.open(file) as found:
        names = {name.partition("/")[2] for name in found.getnames() if not found.getmember(name).isdir()}
    packed = {name.removeprefix("src/") for name in names if name.startswith("src/privee/")}
    assert packed == sources(ROOT / "src")
    assert {*TOP, "docs/gateway.md", "deploy/compose.yaml"} <= names
    assert not any(name.startswith("tests/") for name in names)


def test_the_wheel_says_what_the_project_says(wheel):
    about = metadata(wheel)
    assert about["Version"] == __version__
    assert about["Requires-Python"] == ">=3.11"
    assert set(about.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    core = [one for one in about.get_all("Requires-Dist") if "extra ==" not in one]
    assert sorted(core) == sorted(PROJECT["dependencies"])
    assert "privee = privee.cli:main" in wheel.read(f"privee-{__version__}.dist-info/entry_points.txt").decode()


def test_the_version_stands_in_one_file_and_the_command_tells_it(tmp_path):
    assert PROJECT["dynamic"] == ["version"]
    assert start("--version", cwd=tmp_path).communicate(timeout=60) == (f"privee {__version__}\n", "")
    found = [
        file
        for file in [*(ROOT / "src").rglob("*.py"), ROOT / "pyproject.toml", ROOT / "CITATION.cff"]
        if re.search(rf"[\"' ]{re.escape(__version__)}[\"'\n]", file.read_text(encoding="utf-8"))
    ]
    assert [file.name for file in found] == ["version.py"]


def test_every_extra_has_a_smoke_test_and_none_is_left_over():
    folder = ROOT / ".ci" / "smoke"
    there = {file.stem for file in folder.glob("*.py")}
    assert there == {*PROJECT["optional-dependencies"], "core"} - {"dev"}
    for file in folder.glob("*.py"):
        assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), file


def test_a_file_that_the_settings_forget_is_noticed(copy, wheel, tmp_path):
    """The comparison above can fail: a kind of file that nobody named is not packed."""
    again = tmp_path / "again"
    shutil.copytree(copy, again, ignore=shutil.ignore_patterns("dist", "build", "*.egg-info"))
    text = (again / "pyproject.toml").read_text(encoding="utf-8")
    (again / "pyproject.toml").write_text(text.replace('"privee.paper" = ["printed.json"]\n', ""), encoding="utf-8")
    (again / "MANIFEST.in").unlink()
    (file,) = built(again).glob("*.whl")
    with zipfile.ZipFile(file) as found:
        assert "privee/paper/printed.json" not in found.namelist()
