"""How long a call takes: short calls many times over, contenders in turn, so that a busy moment hits all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Call = Callable[[], object]
SHORTEST_SAMPLE = 2e-3
"""Seconds: a sample repeats its call until it lasts about this long, or the clock would be measured too."""


def time_in_turn(
    calls: Mapping[str, Call], rounds: int, progress: Callable[[int, int], None] = lambda done, of: None
) -> dict[str, list[float]]:
    """Seconds per call, one sample of every contender per round; the first call of each is not counted."""
    repeats = {name: _repeats(call) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for done in range(rounds):
        progress(done, rounds)
        for name, call in calls.items():
            samples[name].append(_sample(call, repeats[name]))
    progress(rounds, rounds)
    return samples


def _repeats(call: Call) -> int:
    call()
    return max(1, round(SHORTEST_SAMPLE / max(_sample(call, 1), 1e-7)))


def _sample(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats
