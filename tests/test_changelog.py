"""CHANGELOG.md keeps to Keep a Changelog, CITATION.cff to its schema's structure and to the paper."""

import re
from datetime import date
from pathlib import Path

import pytest

from privee.version import __version__

ROOT = Path(__file__).parents[1]
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
SECTION = re.compile(r"\[Unreleased\]|\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2})( \[YANKED\])?")


def problems(text: str) -> list[str]:
    """What keeps a text from being such a changelog, in words."""
    found, versions, kinds = [], [], []
    lines = text.splitlines()
    if lines[:1] != ["# Changelog"] or "https://keepachangelog.com/" not in text:
        found.append("no title, or it does not say which form it has")
    for line in lines:
        if line.startswith("## "):
            match = SECTION.fullmatch(line[3:])
            if match is None:
                found.append(f"no such section: {line}")
                continue
            if line[3:] == "[Unreleased]" and versions:
                found.append("what is not released stands first")
            if match[4]:
                date.fromisoformat(match[4])
            versions.append(tuple(map(int, match.groups()[:3])) if match[1] else (10**6,))
            kinds = []
        elif line.startswith("### "):
            if line[4:] not in KINDS or line[4:] in kinds or not versions:
                found.append(f"no such kind here: {line}")
            kinds.append(line[4:])
        elif line.startswith("- ") and not kinds:
            found.append("an entry of no kind")
    if versions != sorted(versions, reverse=True) or len(set(versions)) < len(versions) or not versions:
        found.append("the newest stands first, each once")
    return found


def test_the_changelog_is_one():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert problems(text) == []
    released = re.findall(r"^## \[(\d[^\]]*)\]", text, flags=re.MULTILINE)
    assert "## [Unreleased]" in text or released[0] == __version__


START = "# Changelog\n\nhttps://keepachangelog.com/\n\n"
GOOD = START + "## [Unreleased]\n\n### Added\n\n- a\n\n## [0.1.0] - 2026-11-18\n\n### Fixed\n\n- b\n"


@pytest.mark.parametrize(
    ("this", "that"),
    [
        ("# Changelog", "# Changes"),
        ("## [0.1.0] - 2026-11-18", "## 0.1.0 (unreleased)"),
        ("### Fixed", "### New"),
        ("### Added\n\n", ""),
        ("## [Unreleased]", "## [0.0.9] - 2026-11-01"),
        ("https://keepachangelog.com/", ""),
    ],
)
def test_one_that_is_not_is_noticed(this, that):
    assert problems(GOOD) == []
    assert problems(GOOD.replace(this, that, 1))


def test_the_citation_is_of_the_paper():
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(found)  # what the schema wants
    assert (found["cff-version"], found["type"], found["license"]) == ("1.2.0", "software", "Apache-2.0")
    assert "version" not in found  # it stands in one place, and that is not this
    paper = found["preferred-citation"]
    assert {"type", "title", "authors"} <= set(paper)
    assert paper["title"].startswith("PRIVEE: Order-Preserving Confidence Perturbation")
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Madabushi", "Ali", "Khan", "Ning", "Wu", "Xin", "Butt", "Cho"]
    assert all(set(author) == {"given-names", "family-names", "affiliation"} for author in paper["authors"])
