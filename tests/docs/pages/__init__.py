"""What pages need before they are followed: one small module for each page that needs anything.

- `prepare(place)` puts files into `place.folder`, names for Python blocks into `place.names`, and into `place.replace`
  what stands on this machine for hosts and ports of a page.
- `SMALLER` has options that are added to commands that begin so: what a reader would wait minutes for is made small
  here, not on the page.
- `BEFORE` has what happens right before commands that begin so, such as a disk that fails.
- `SLOW`: whether it runs in `make docs` alone; unless said, pages with commands do.
- `RUN_BY`: a test that runs the whole page already. `NEEDS`: modules without which the page is skipped.
"""

import importlib
from types import ModuleType


def entry(page: str) -> ModuleType | None:
    """The page's module, if it has one."""
    try:
        return importlib.import_module(f"tests.docs.pages.{page.lower()}")
    except ModuleNotFoundError as error:
        if error.name != f"tests.docs.pages.{page.lower()}":
            raise
        return None
