"""Blocks that are not run say why; what is only looked up exists; data can be read; links lead somewhere."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests._support.reader.blocks import PAGES, ROOT, blocks
from tests._support.reader.following import CHECKED_ONLY
from tests.docs.pages import entry

ALL = [block for page in PAGES for block in blocks(page)]
NOT_RUN = {
    "alignment": 2,  # another engine, a gigabyte, two machines
    "deploy": 4,  # systemd, a container engine twice, a cluster
    "federation": 3,  # three machines
    "gateway": 4,  # a PostgreSQL server; a model of one's own and stock clients, whose own tests run them
}
"""How many blocks of which pages; a new one is a decision."""


def test_blocks_that_are_not_run_are_few_and_say_why():
    marked = [block for block in ALL if block.reason is not None]
    assert {page: sum(block.page == page for block in marked) for page in {b.page for b in marked}} == NOT_RUN
    assert [block.where for block in marked if len(block.reason.split()) < 3] == []


def test_a_mark_without_a_reason_is_found():
    (block,) = blocks("x", "text\n\n<!-- not run: -->\n```\nprivee demo\n```\n")
    assert block.reason == ""


@pytest.mark.parametrize("page", [page for page in PAGES if hasattr(entry(page), "RUN_BY")])
def test_what_runs_a_whole_page_reads_that_page(page):
    file = ROOT / entry(page).RUN_BY
    support = (ROOT / "tests" / "_support" / "recipes.py").read_text() if "recipes" in file.read_text() else ""
    assert f"{page}.md" in file.read_text() + support


def test_every_entry_has_a_page():
    files = {path.stem for path in (ROOT / "tests" / "docs" / "pages").glob("*.py")} - {"__init__"}
    assert files <= {page.lower() for page in PAGES}


def test_installs_and_make_targets_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    seen = 0
    for block in ALL:
        for statement in block.statements() if block.kind == "commands" else []:
            if CHECKED_ONLY.match(statement.text):
                seen += 1
                bare = statement.text.split("#")[0]
                for listed in re.findall(r"\[([\w,]+)\]", bare):
                    assert set(listed.split(",")) <= set(extras), block.where
                for target in re.findall(r"\bmake ([\w-]+)", bare):
                    assert target in targets, block.where
                for file in re.findall(r"-c (\S+)", bare):
                    assert (ROOT / file).is_file(), block.where
    assert seen >= 5
    for path in PAGES.values():
        for listed in re.findall(r"`(?:pip install )?'?privee\[([\w,]+)\]'?`", path.read_text(encoding="utf-8")):
            assert set(listed.split(",")) <= set(extras), path.name


def test_data_can_be_read():
    yaml = pytest.importorskip("yaml")
    for block in ALL:
        if block.language == "json" and block.kind == "data":
            text = block.text if block.text.startswith("{") else f"{{{block.text}}}"
            json.loads(text)
        if block.language == "yaml":
            assert yaml.safe_load(block.text), block.where


def anchors(path: Path) -> set[str]:
    """As the site and code hosts make them of headings."""
    text = re.sub(r"^( *)```.*?^\1```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    words = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in words}


@pytest.mark.parametrize("path", [*PAGES.values(), ROOT / "SECURITY.md"], ids=lambda path: path.stem)
def test_links_lead_to_a_heading(path):
    text = path.read_text(encoding="utf-8")
    for file, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text):
        target = path.parent / file if file else path
        if "reference/" not in file:  # made while the site is built, and checked there
            assert anchor in anchors(target), f"{file}#{anchor}"


BASH = "/bin/bash"


def test_shell_of_pages_is_bash():
    for block in ALL:
        if block.kind == "commands":
            for statement in block.statements():
                found = subprocess.run([BASH, "-n"], input=statement.text, text=True, capture_output=True, check=False)  # noqa: S603
                assert found.returncode == 0, f"{block.where}: {found.stderr}"
