"""No time left is told before there is something to tell it from."""

from __future__ import annotations

import time
from collections.abc import Callable

EARLY = 120.0
"""Seconds, in which a model is trained and attacked by the strongest: cells of the rest are quicker by far."""


def patient(
    progress: Callable[[int, int | None, str], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[int, int, str], None]:
    """The same progress, at first without a size that a time left could be worked out from; it is told in words."""
    began = clock()

    def tell(done: int, of: int, what: str) -> None:
        if clock() - began < EARLY:
            progress(done, None, f"{what}: {done:,} of {of:,}")
        else:
            progress(done, of, what)

    return tell
