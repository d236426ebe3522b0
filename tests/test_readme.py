"""The README is true to its commands: its figures are made by them, its code runs as it stands."""

import re
import subprocess
import sys

import numpy as np
import pytest
from benchmarks.badges import badges
from benchmarks.readme import README, block, differences, speed_table, with_block

import privee

TEXT = README.read_text(encoding="utf-8")
ROWS = "| a | b |\n|---|---|\n| `none` | weak | 20 % | partial | 60 % | 40 % | 90 % | 1.00 |\n"


def code(having: str) -> str:
    """The page's Python block that holds these words."""
    (found,) = [b for b in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL) if having in b]
    return found


def test_speed_is_what_the_benchmark_stored():
    assert block(TEXT, "speed") == speed_table()


def test_three_lines_around_a_model_run_as_they_stand(capsys):
    scores = np.random.default_rng(0).dirichlet(np.ones(10), 20)
    space = {"model_scores": scores}
    exec(code("OrderedDP(epsilon=4)"), space)  # noqa: S102 (our own page)
    assert np.array_equal(space["release"].argsort(axis=1), scores.argsort(axis=1))
    assert capsys.readouterr().out


def test_every_command_of_the_page_exists():
    from typer.main import get_command

    from privee.cli.app import app

    known = get_command(app).commands
    for words in re.findall(r"^(?:privee) ([\w-]+)(?: ([\w-]+))?", TEXT, flags=re.MULTILINE):
        assert words[0] in known, words
        if hasattr(known[words[0]], "commands"):
            assert words[1] in known[words[0]].commands, words


def test_a_page_that_says_something_else_is_found():
    page = f"x <!-- audit: by -->\n{ROWS}<!-- end -->"
    assert block(page, "audit") == ROWS
    assert differences(ROWS, ROWS.replace("20 %", "23 %").replace("1.00", "0.97")) == []
    for wrong in (
        ("20 %", "70 %"),
        ("weak", "open"),
        ("partial", "guarded"),
        ("60 %", "30 %"),
        ("`none`", "`ope`"),
        ("1.00", "0.40"),
        ("90 %", "-"),
    ):
        assert len(differences(ROWS, ROWS.replace(*wrong))) == 1, wrong
    assert differences(ROWS, ROWS + ROWS.splitlines()[2] + "\n")
    assert block(with_block(page, "audit", "new\n"), "audit") == "new\n"


def test_the_table_of_defenses_names_them_all():
    shown = set(re.findall(r"^\| `(\w+)\(", TEXT, flags=re.MULTILINE))
    there = {cls.__name__ for cls in privee.known_defenses().values()} - {"NoDefense"}
    assert shown == there


@pytest.mark.slow
def test_the_audit_on_the_page_is_the_one_that_its_commands_make():
    command = [sys.executable, "-m", "benchmarks.readme", "--check"]
    found = subprocess.run(command, cwd=README.parent, capture_output=True, text=True, check=False)  # noqa: S603 (ours)
    assert found.returncode == 0, found.stdout + found.stderr


def test_badges_say_what_the_project_says():
    drawn, page = badges(), README.read_text(encoding="utf-8")
    assert len(drawn) == 4
    for name, text in drawn.items():
        assert (README.parent / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8") == text
        assert f"docs/images/{name}.svg" in page
