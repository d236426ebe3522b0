"""What the pages name exists: modules and names of privee, files of the repository, links between pages."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def load(dotted: str) -> object:
    """The module, or the name in one, that this stands for."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("privee"):
                raise
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise AssertionError(dotted)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    pytest.importorskip("torch")
    text = page.read_text(encoding="utf-8")
    for module, names in re.findall(r"^from (privee[\w.]*) import ([\w, ]+)$", text, flags=re.MULTILINE):
        for name in names.split(","):
            load(f"{module}.{name.strip()}")
    for dotted in re.findall(r"`(privee(?:\.\w+)+)", text):
        load(dotted)
    for file in re.findall(r"\b((?:tests|benchmarks)/[\w/]+\.py)\b", text):
        assert (ROOT / file).is_file(), file
    for file in re.findall(r"`(test_\w+\.py)`", text):
        assert list((ROOT / "tests").rglob(file)), file
    for link in re.findall(r"\]\((?!https?:|#|reference/)([^)#]+)", text):  # references are made with the site
        assert (page.parent / link).exists(), link
