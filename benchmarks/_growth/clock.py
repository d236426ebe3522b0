"""Time as a clock on the wall shows it, and as processors spent it: here and in a server's processes."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Work = Callable[[], object]


@dataclasses.dataclass(frozen=True)
class Clock:
    """For work that a server takes part in.

    Processes that the server ends with the question they were for are not counted: a pass over a whole table, which
    PostgreSQL shares among a few, took more than is told.

    Args:
        server: the process whose children work too; None is nobody.
    """

    server: int | None = None

    def timed(self, make: Callable[[], Work], times: int, bare: Work | None = None) -> dict[str, float]:
        """Milliseconds of work that is made ready anew each time: the median, the twentieth that took least, CPU."""
        took, spent, bares = [], 0.0, []
        for _ in range(times):
            work = make()
            before = self.cpu()
            took.append(milliseconds(work))
            spent += self.cpu() - before
            bares += [milliseconds(bare)] if bare else []
        figures = {"ms": statistics.median(took), "ms_5": lowest(took), "cpu_ms": 1e3 * spent / times}
        return figures | ({"bare_ms": statistics.median(bares), "bare_ms_5": lowest(bares)} if bare else {})

    def cpu(self) -> float:
        """Seconds of processors so far."""
        return time.process_time() + sum(map(_on_processor, self._children()))

    def _children(self) -> list[int]:
        if self.server is None:
            return []
        path = Path(f"/proc/{self.server}/task/{self.server}/children")
        return [int(word) for word in path.read_text().split()]


def _on_processor(process: int) -> float:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
    return 0.0


def lowest(took: list[float]) -> float:
    """What it takes where nothing else runs, nearly."""
    return statistics.quantiles(took, n=20, method="inclusive")[0]


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)
