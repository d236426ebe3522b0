"""Measures what a plan asks for, cell by cell; what is there already is not measured again."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from privee.attacks import attack as make_attack
from privee.audit import Subject
from privee.audit.engine import Engine, one_thread, spread
from privee.audit.grid import run_kept, studies_of, tasks_of
from privee.audit.results import Finding
from privee.audit.task import Task
from privee.bench.cases import Case, subject_of, train_case
from privee.bench.cells import Cell, CellFolder, cells_of, plain_finding
from privee.bench.guesses import RememberedGuesses
from privee.bench.parts import Part, source_mark
from privee.bench.plan import Batch, Plan
from privee.bench.worth import Asked, varies, worth_of
from privee.defenses import defense as make_defense
from privee.errors import SettingError
from privee.vfl.run_format import is_finished_run

NamedProgress = Callable[[int, int, str], None]
HELD = 2
"""Models that are kept in memory: the last ones."""


class TimeIsUpError(Exception):
    """The minutes are over; it never leaves this file."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Done:
    """How far a run came: cells that are measured now, of how many, and how many lie there of other settings."""

    measured: int
    planned: int
    others: int
    seconds: float
    stopped: bool


@dataclasses.dataclass(kw_only=True)
class Bench:
    """Where cells are measured.

    Attributes:
        plan: what is wanted.
        folder: keeps models, findings and cells.
        jobs: how many attacks or trainings at once; all cores by default.
        engine: "local" or "ray"; on a cluster the folder must be one that all machines share.
        data_dir: where datasets lie, if not downloaded.
        minutes: stop after so many, at the next thing that is done; None for no limit.
        progress: called with (done, of, what), in cells that this run has to measure.
    """

    plan: Plan
    folder: Path
    jobs: int | None = None
    engine: Engine = "local"
    data_dir: Path | None = None
    minutes: float | None = None
    progress: NamedProgress = lambda done, of, what: None
    _guesses: RememberedGuesses = dataclasses.field(default_factory=RememberedGuesses)
    _held: dict[Case, Subject] = dataclasses.field(default_factory=dict)
    _done: int = 0
    _wanted: int = 0
    _until: float = math.inf

    def __post_init__(self) -> None:
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise SettingError(f"minutes must be a number above 0, got {self.minutes}")
        if self.jobs is not None and self.jobs < 1:
            raise SettingError(f"jobs must be 1 or more, got {self.jobs}")
        self.cells = CellFolder(self.folder)

    def run(self) -> Done:
        """Measure what is missing, until all is done or the minutes are over."""
        start, stopped = time.monotonic(), False
        self._until = math.inf if self.minutes is None else start + 60 * self.minutes
        planned = [(batch, cells_of(self.plan, batch)) for batch in self.plan.batches]
        self._wanted = sum(not self.cells.has(cell) for _, cells in planned for cell in cells)
        unusable: set[tuple[Case, str]] = set()
        try:
            for batch, cells in planned:
                missing = [c for c in cells if not self.cells.has(c) and (batch.case, c.defense) not in unusable]
                self._measure(batch, missing)
                if batch.part is None:
                    unusable |= {(batch.case, cell.defense) for cell in cells if self._is_unusable(cell)}
        except TimeIsUpError:
            stopped = True
        # What cannot be used has no further parts.
        usable = (
            (b, c) for b, cells in planned for c in cells if b.part is None or (b.case, c.defense) not in unusable
        )
        every = [cell for _, cell in usable]
        return Done(
            measured=sum(map(self.cells.has, every)),
            planned=len(every),
            others=self.cells.others(cell.key for cell in every),
            seconds=round(time.monotonic() - start, 1),
            stopped=stopped,
        )

    def _is_unusable(self, cell: Cell) -> bool:
        """Whether the defense cannot be used on the model, as its worth says."""
        return "reason" in (self.cells.get(cell) or {}).get("worth", {})

    def _measure(self, batch: Batch, missing: Sequence[Cell]) -> None:
        if not missing:
            return
        what = f"{batch.case.name}: {batch.what}"
        self._tell(0, what)
        subject = self._subject(batch.case)
        if batch.part is not None and batch.part.sent and hasattr(subject, "with_coordinator"):
            subject = subject.with_coordinator()  # who sees what the parties send
        with one_thread():
            if batch.part is None:
                self._worth(batch, subject, missing, what)
            else:
                self._attack(batch, batch.part, subject, missing, what)
        self._done += len(missing)

    def _worth(self, batch: Batch, subject: Subject, missing: Sequence[Cell], what: str) -> None:
        sample = subject.sample(batch.seed, self.plan.size.worth_rows, 0)
        before = sample.scores
        if batch.case.protection:
            before = self._subject(batch.case.plain).sample(batch.seed, self.plan.size.worth_rows, 0).scores
        asked = [Asked(cell.defense, batch.case.protection, sample, before, batch.seed) for cell in missing]
        by_defense = {cell.defense: cell for cell in missing}
        work = spread(worth_of, asked, jobs=self.jobs, engine=self.engine)
        for done, (one, found) in enumerate(work, 1):
            self.cells.add(by_defense[one.defense], {"worth": found})
            self._tell(done, what)

    def _attack(self, batch: Batch, part: Part, subject: Subject, missing: Sequence[Cell], what: str) -> None:
        specs = tuple(cell.defense for cell in missing)
        asks = specs if part.queries == 1 else self._that_vary(subject, specs, batch.seed)
        grid = self.plan.grid(part, asks or specs[:1], batch.seed)
        studies = list(studies_of([subject], grid, self._guesses)) if asks else []
        tasks = [_marked(task) for study in studies for task in tasks_of(study, grid, shown=False)]
        found = self._found(batch.case, tasks, len(missing), what)
        for cell in missing:
            mine = [finding for finding in found if finding.defense == cell.defense]
            self.cells.add(
                cell,
                {
                    "columns": [column.name for column in subject.private_columns],
                    "findings": [plain_finding(finding) for finding in mine],
                    "as_once": cell.defense not in asks,
                },
            )

    def _found(self, case: Case, tasks: Sequence[Task], cells: int, what: str) -> list[Finding]:
        def tell(done: int, of: int) -> None:
            self._tell(cells * done // max(1, of), what)

        return run_kept(tasks, self.folder / "findings" / case.key, self.jobs, self.engine, tell) if tasks else []

    def _that_vary(self, subject: Subject, specs: Sequence[str], seed: int) -> tuple[str, ...]:
        """The defenses of which a second release tells more than the first."""
        sample = subject.sample(seed, self.plan.size.records, 0)
        return tuple(spec for spec in specs if varies(spec, sample, seed))

    def _subject(self, case: Case) -> Subject:
        if case not in self._held:
            self._train(case)
            while len(self._held) >= HELD:
                del self._held[next(iter(self._held))]
            self._held[case] = subject_of(case, self._models, self.data_dir)
        return self._held[case]

    def _train(self, case: Case) -> None:
        """A model that is missing, and beside it some that will be needed next."""
        if is_finished_run(self._models / case.key):
            return
        with_next = list(self._untrained(case))[: self.jobs or 2]
        train = partial(train_case, models=self._models, data_dir=self.data_dir)
        for _ in spread(train, with_next, jobs=self.jobs, engine=self.engine):
            self._tell(0, f"training models, {with_next[0].name} first")

    def _untrained(self, case: Case) -> Iterator[Case]:
        """From this one on, those whose unprotected model is there: no two may train the same."""
        yield case
        later = self.plan.cases[self.plan.cases.index(case) + 1 :] if case in self.plan.cases else ()
        for other in later:
            ready = not other.protection or is_finished_run(self._models / other.plain.key)
            if ready and other != case.plain and not is_finished_run(self._models / other.key):
                yield other

    @property
    def _models(self) -> Path:
        return self.folder / "models"

    def _tell(self, done: int, what: str) -> None:
        self.progress(self._done + done, self._wanted, what)
        if time.monotonic() > self._until:
            raise TimeIsUpError


def _marked(task: Task) -> Task:
    """The same work if also the files of the defense and the attack are the same."""
    marks: list[Any] = [source_mark(type(make_defense(task.defense))), source_mark(type(make_attack(task.attack)))]
    key = hashlib.sha256("".join([task.key, *marks]).encode()).hexdigest()
    return dataclasses.replace(task, key=key)
