"""Progress of long work, for whoever wants to see it: a bar on the command line."""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

LEAST_SECONDS, LEAST_SHARE = 10.0, 0.1
"""Before so much was watched, and done of what was open, any estimate is a guess."""
RECENT = 0.25
"""The last part of the time so far, which tells the speed: an audit has its longest attacks first."""

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


class TimeLeft:
    """Estimates from the recent speed, once there is one.

    What was done when the watching began, or a new piece of work did (another size, or fewer done than before), says
    nothing about how fast it goes.

    Args:
        clock: seconds.

    Example:
        >>> seconds = iter([0.0, 30.0])
        >>> left = TimeLeft(clock=lambda: next(seconds))
        >>> left.after(80, 100), left.after(90, 100)
        (None, 30.0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._size = clock, -1
        self._seen: deque[tuple[float, int]] = deque()
        self._began = (0.0, 0)

    def after(self, done: int, size: int | None) -> float | None:
        """Seconds that are left now that so much is done; None while that cannot be told, or if nothing is left."""
        now = self._clock()
        if not size:  # nobody knows of how much
            self._size = -1
            return None
        if size != self._size or done < self._seen[-1][1]:
            self._size, self._began = size, (now, done)
            self._seen.clear()
        if len(self._seen) > 1 and now - self._seen[-2][0] < LEAST_SECONDS / 100:
            self._seen.pop()  # a few reports a second are enough
        self._seen.append((now, done))
        elapsed, new = now - self._began[0], done - self._began[1]
        while len(self._seen) > 2 and self._seen[1][0] <= now - RECENT * elapsed:
            self._seen.popleft()
        if elapsed < LEAST_SECONDS or new < LEAST_SHARE * (size - self._began[1]) or done >= size:
            return None
        since, before = self._seen[0]
        return (size - done) * (now - since) / (done - before) if done > before else None


def about(seconds: float | None) -> str:
    """An estimate in words, and nothing where there is none.

    Example:
        >>> about(34), about(690), about(9000), about(None)
        ('about 40 s left', 'about 12 min left', 'about 3 h left', '')
    """
    if seconds is None:
        return ""
    if seconds < 120:
        return f"about {math.ceil(seconds / 10) * 10} s left"
    return (
        f"about {math.ceil(seconds / 60)} min left" if seconds < 7200 else f"about {math.ceil(seconds / 3600)} h left"
    )
