"""An alignment by RR22 with all parties on this machine: real workers, linked over its loopback."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

from privee.data.alignment.ids import Rows, checked_ids
from privee.data.alignment.in_process import Alignment, passive_parties
from privee.data.alignment.spu.link import SpuLink, local_links
from privee.data.alignment.spu.meetings import STEPS, Patience, Start, active_rows, passive_rows
from privee.data.alignment.spu.pipe import SpuWorker, spu_command
from privee.errors import UnavailableError
from privee.progress import Progress


def align_with_spu(
    parties: Mapping[str, Sequence[str]],
    *,
    active: str,
    progress: Progress | None = None,
    start: Start | None = None,
    patience: Patience | None = None,
) -> Alignment:
    """As `align`, with RR22 in two workers per passive party. Traffic is not counted: it goes over spu's own link."""
    passive = passive_parties(parties, active)
    own = {name: checked_ids(ids, name) for name, ids in parties.items()}
    if start is None:
        spu_command()  # one clear line before anything is started
    workers, bar = _Workers(start or SpuWorker), StepCount(len(passive), progress)
    with tempfile.TemporaryDirectory(prefix="privee-align-") as folder, contextlib.closing(workers):
        links = {name: _local(Path(folder) / f"{number}") for number, name in enumerate(passive)}
        ours = {name: ends[0] for name, ends in links.items()}
        lead = partial(
            active_rows, own[active], ours, name=active, start=workers.start, patience=patience, tick=bar.tick
        )
        follow = partial(passive_rows, active=active, start=workers.start, patience=patience)
        with ThreadPoolExecutor(len(parties)) as pool:
            work: dict[str, Future[Rows]] = {active: pool.submit(lead)}
            for name in passive:
                work[name] = pool.submit(follow, own[name], links[name][1], name=name)
            try:
                wait(work.values(), return_when=FIRST_EXCEPTION)
                early = [future for future in work.values() if future.done() and future.exception()]
            finally:
                if not all(future.done() and not future.exception() for future in work.values()):
                    workers.close()  # whoever waits for a party that failed need not wait for long
            wait(work.values())
            _raise_first(early, list(work.values()))
            rows = {name: work[name].result() for name in parties}
    return Alignment(rows, len(rows[active]), {})


def _raise_first(early: Sequence[Future[Rows]], every: Sequence[Future[Rows]]) -> None:
    """The cause rather than what followed from it: a party's own refusal before the loss of a worker that we ended."""
    failures = [future.exception() for future in [*early, *every]]
    causes = sorted((error for error in failures if error), key=lambda error: isinstance(error, UnavailableError))
    if causes:
        raise causes[0]


def _local(folder: Path) -> tuple[SpuLink, SpuLink]:
    folder.mkdir(mode=0o700)
    return local_links(folder)


class _Workers:
    """All workers of this alignment, to be ended at once; after that none is started."""

    def __init__(self, start: Start) -> None:
        self._start, self._lock = start, threading.Lock()
        self._all: list[SpuWorker] = []
        self._closed = False

    def start(self) -> SpuWorker:
        worker = self._start()
        with self._lock:
            self._all.append(worker)
            late = self._closed
        if late:
            worker.close()
        return worker

    def close(self) -> None:
        with self._lock:
            self._closed, every = True, list(self._all)
        for worker in every:
            worker.close()


class StepCount:
    """A bar over the steps of a party's meetings. How far spu is within a step it does not say."""

    def __init__(self, meetings: int, progress: Progress | None) -> None:
        self._size, self._done, self._progress = STEPS * meetings, 0, progress

    def tick(self, steps: int) -> None:
        """So many are done."""
        self._done += steps
        if self._progress:
            self._progress(self._done, self._size)
