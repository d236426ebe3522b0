"""Progress of long work, for whoever wants to see it: a bar on the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

_watcher: ContextVar[Progress | None] = ContextVar("privee release progress", default=None)


@contextlib.contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """While this lasts, slow defenses call `progress(done, of)`."""
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def watcher() -> Progress | None:
    """Who watches, if anyone does."""
    return _watcher.get()
