"""Every page is followed from its first block to its last, in an empty folder: what it shows is what comes out."""

import pytest

from tests._support.reader.blocks import PAGES, blocks
from tests._support.reader.following import CHECKED_ONLY, Place, follow
from tests.docs.pages import entry


def kinds(page: str) -> set[str]:
    """Of what is to be run there."""
    if hasattr(entry(page), "RUN_BY"):
        return set()
    run = [block for block in blocks(page) if block.reason is None]
    typed = [s for block in run if block.kind == "commands" for s in block.statements()]
    python = {"python" for block in run if block.kind == "python"}
    return python | {"commands" for statement in typed if not CHECKED_ONLY.match(statement.text)}


def marks(page: str) -> list[pytest.MarkDecorator]:
    """Commands take seconds each, most Python does not."""
    slow = getattr(entry(page), "SLOW", "commands" in kinds(page))
    return [pytest.mark.slow] if slow else []


FOLLOWED = [pytest.param(page, marks=marks(page)) for page in PAGES if kinds(page)]


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_does_what_it_says(page, tmp_path, shared):
    for needed in getattr(entry(page), "NEEDS", ("torch",)):
        pytest.importorskip(needed)
    assert follow(page, entry(page), Place(tmp_path, shared)) > 0
