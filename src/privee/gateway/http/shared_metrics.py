"""Metrics of several workers as one: each writes its own to a file, whoever is asked adds them up.

Counters and histograms are sums over all workers, ended ones too; a scrape is at most `SECONDS` behind the others.
Gauges are those of the worker that answers, but for requests in flight, which are summed over those that live.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from privee.atomic import whole_file
from privee.gateway.http.middleware import Metrics
from privee.gateway.service import Health

SECONDS = 1.0
LIVES_SECONDS = 5.0
IN_FLIGHT = "privee_http_requests_in_flight"
_SUMMED = {"counter", "histogram"}


class SharedMetrics:
    """One worker's metrics, beside the others'.

    Args:
        metrics: its own.
        folder: where all workers write.
    """

    def __init__(self, metrics: Metrics, folder: Path) -> None:
        self._metrics, self._folder = metrics, folder
        self._file = folder / f"{os.getpid()}.prom"

    async def keep_writing(self) -> None:
        """Until cancelled, and once more then."""
        try:
            while True:
                self._write()
                await asyncio.sleep(SECONDS)
        finally:
            self._write()

    def text(self, health: Health) -> bytes:
        """All workers' as Prometheus reads it."""
        self._metrics.set_health(health)
        return generate_latest(self)  # it is asked to `collect` alone

    def collect(self) -> Iterator[Metric]:
        """Every family with what the others have counted."""
        others: dict[str, list[Sample]] = {}
        for family in self._others():
            others.setdefault(family.name, []).extend(family.samples)
        for family in self._metrics.registry.collect():
            if family.type in _SUMMED or family.name == IN_FLIGHT:
                family.samples = _summed([*family.samples, *others.get(family.name, ())])
            yield family

    def _others(self) -> Iterator[Metric]:
        for file in sorted(self._folder.glob("*.prom")):
            if file != self._file:
                lives = time.time() - file.stat().st_mtime < LIVES_SECONDS
                families = text_string_to_metric_families(file.read_text(encoding="utf-8"))
                yield from (family for family in families if lives or family.type in _SUMMED)

    def _write(self) -> None:
        with whole_file(self._file, force=True) as partial:
            partial.write_bytes(generate_latest(self._metrics.registry))


def _summed(samples: Iterable[Sample]) -> list[Sample]:
    """One sample for each name and labels; when a worker began to count is told by the first."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Sample] = {}
    for one in samples:
        key = (one.name, tuple(sorted(one.labels.items())))
        if key not in found:
            found[key] = one
        elif not one.name.endswith("_created"):
            found[key] = found[key]._replace(value=found[key].value + one.value)
    return list(found.values())
