"""Time that only goes forward, so that moving the computer's clock never frees anything early."""

from __future__ import annotations

import time
from collections.abc import Callable


class MonotonicClock:
    """The wall time at the start plus what has passed since, whatever happens to the wall clock later.

    Example:
        >>> clock = MonotonicClock(wall=lambda: 1000.0)
        >>> clock.not_before(5000)
        >>> clock.now()
        5000
    """

    def __init__(self, *, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._start = wall() - elapsed()

    def not_before(self, latest: float) -> None:
        """It was this late already once."""
        self._start = max(self._start, latest - self._elapsed())

    def now(self) -> int:
        """Whole seconds since 1970."""
        return int(self._start + self._elapsed())
