"""The files of docs/extending.md, as they stand there."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def recipes() -> dict[str, str]:
    """Every file of the page, by its path in the package."""
    found = re.findall(r"```python\n# src/privee/(\S+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return dict(found)
