"""Rate limits by a moving window: in any stretch of its length there are no more hits than allowed.

Used in one event loop, so it needs neither locks nor the threads that clear up behind other stores.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from limits import RateLimitItem


class MovingWindows:
    """Counts hits; each is forgotten when its window has passed, at the next hit of the same name.

    Args:
        now: seconds that never go back.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._hits: dict[tuple[RateLimitItem, str], deque[float]] = {}

    def hit(self, limit: RateLimitItem, name: str) -> float | None:
        """Count one hit and return None; or if it is one too many, count nothing and tell how long to wait."""
        hits = self._hits.get((limit, name))
        if hits is None:
            hits = self._hits[limit, name] = deque()
        now, length = self._now(), limit.get_expiry()
        while hits and now - hits[0] >= length:
            hits.popleft()
        if len(hits) >= limit.amount:
            return length - (now - hits[0])
        hits.append(now)
        return None
