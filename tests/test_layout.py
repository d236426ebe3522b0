"""Tests stand for themselves: none imports another, and the benchmarks need none of them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
BENCHMARKS = TESTS.parent / "benchmarks"


def imported(file: Path) -> Iterator[str]:
    """The full name of every module, and of every name of a module, that a file imports."""
    package = ".".join(file.relative_to(TESTS.parent).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            parent = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            start = ".".join(part for part in (parent if node.level else "", node.module) if part)
            yield from (f"{start}.{alias.name}" for alias in node.names)


def is_test(name: str) -> bool:
    parts = name.split(".")
    return parts[0] == "tests" and any(part.startswith("test_") or part == "conftest" for part in parts)


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def test_nothing_is_imported_from_a_test_file():
    assert len(files(TESTS)) > 100
    assert {
        file: name for file in [*files(TESTS), *files(BENCHMARKS)] for name in imported(file) if is_test(name)
    } == {}


def test_benchmarks_need_no_tests():
    assert len(files(BENCHMARKS)) > 20
    found = {file: name for file in files(BENCHMARKS) for name in imported(file) if name.split(".")[0] == "tests"}
    assert found == {}


def test_every_folder_is_a_package():
    """So that files of the same name in different folders are different modules."""
    folders = {file.parent for file in files(TESTS)}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize(
    "text",
    [
        "from tests.scores.test_order import nasty",
        "from tests.scores import test_order",
        "import tests.scores.test_order",
        "from .test_order import nasty",
        "from ..scores.test_order import nasty",
        "from tests.gateway.conftest import folder",
    ],
)
def test_an_import_of_a_test_file_would_be_noticed(text, monkeypatch, tmp_path):
    monkeypatch.setitem(globals(), "TESTS", tmp_path / "tests")
    file = tmp_path / "tests" / "scores" / "test_other.py"
    file.parent.mkdir(parents=True)
    file.write_text(text + "\n")
    assert any(is_test(name) for name in imported(file))
