"""What the site is made of beside the pages in docs/: pages made here.

SECURITY.md and its like stand at the top of the repository, where people look for them; the references of commands and
of Python names are read off the program. All of them become pages while the site is built, and none is kept.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from website.cli_page import cli_page  # noqa: E402
from website.python_pages import python_pages  # noqa: E402

TOP = {"SECURITY.md": "security.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files at the top of the repository, and the pages that they become."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the modules of the Python reference in the menu."""
    names = [name for name in _generated() if name.startswith("reference/privee")]
    for section in config.nav:
        if "Reference" in section:
            section["Reference"] += [{Path(name).stem: name} for name in names]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    for name, text in _generated().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links out of docs/ lead to the page made of that file, or are the file's name where there is none."""
    return re.sub(r"\[([^\]]+)\]\(\.\./([^)#]+)(#[^)]*)?\)", _inside, markdown)


def _generated() -> dict[str, str]:
    pages = {page: _top_page((ROOT / file).read_text(encoding="utf-8")) for file, page in TOP.items()}
    names = json.loads((ROOT / "tests" / "public_names.json").read_text(encoding="utf-8"))
    return pages | {"reference/cli.md": cli_page()} | python_pages(names)


def _top_page(text: str) -> str:
    """Its links as seen from docs/: one folder down."""
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\]\(([A-Z]+\.md)", r"](../\1", text)


def _inside(link: re.Match[str]) -> str:
    words, file, anchor = link.groups()
    if file in TOP:
        return f"[{words}]({TOP[file]}{anchor or ''})"
    return f"{words} (`{file}`)"
