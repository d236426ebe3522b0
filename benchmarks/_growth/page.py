"""docs/performance.md, from what is stored: nothing on the page is typed by hand."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks._growth import speeds, training_speeds
from benchmarks._growth.growth_page import growth

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
HEAD = """# How fast, and how it grows

Every speed that is measured in this project, with the command that measures it. `python benchmarks/growth.py --page`
writes this page from `benchmarks/results`; no figure on it is typed by hand, and a test compares the two.

Figures are of one machine with two cores that other work shared, at the load that stands beside them: a load of 10
means that ten programs wanted those two. So time of the processor counts here, and ratios of what was measured by
turns in one run; times on the clock show how long this machine had to wait, and an idle one is faster.

## Growth

![Time and memory against size: ledgers, listings, releases, files, parties](images/growth.svg)
"""


def made() -> str:
    """The whole page."""
    lines = [HEAD, *growth(), "", *speeds.all_speeds(), "", *training_speeds.all_speeds()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def write() -> None:
    PAGE.write_text(made(), encoding="utf-8")
