"""The page about adapters: every example runs as it stands, by itself, and has ten lines at most."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"
BLOCKS = re.findall(
    r"^## ([^\n]+)\n(?:(?!^## ).)*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
)

MARKS = {"MLflow": (pytest.mark.slow, pytest.mark.filterwarnings("ignore"))}  # a database is made, which warns


def test_all_examples_of_the_page_are_found():
    assert len(BLOCKS) == PAGE.read_text("utf-8").count("```python")


@pytest.mark.parametrize("code", [pytest.param(code, id=title, marks=MARKS.get(title, ())) for title, code in BLOCKS])
def test_an_example_runs_as_it_stands(code, monkeypatch, tmp_path):
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    for module in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(module, reason=f"{module} is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/adapters.md", "exec"), {"__name__": "example"})  # noqa: S102 (our own page)
