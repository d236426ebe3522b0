"""Measures what a plan asks for, cell by cell; what is there already is not measured again."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from privee.audit import Subject
from privee.audit.engine import Engine, one_thread, spread
from privee.audit.grid import run_kept, studies_of, tasks_of
from privee.audit.results import Finding
from privee.audit.task import Task
from privee.bench.cases import Case, subject_of
from privee.bench.cells import Cell, CellFolder, cells_of, marked, plain_finding
from privee.bench.guesses import RememberedGuesses
from privee.bench.models import Models
from privee.bench.parts import Part
from privee.bench.plan import Batch, Plan
from privee.bench.rows import Row
from privee.bench.waves import Planned, waves_of
from privee.bench.worth import Asked, varies, worth_of
from privee.errors import SettingError

NamedProgress = Callable[[int, int, str], None]
HELD = 2
"""Models that are kept in memory: the last ones."""


class TimeIsUpError(Exception):
    """The minutes are over; it never leaves this file."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Done:
    """How far a run came: cells that are measured now, of how many, and how many lie there of other settings.

    Attributes:
        untrained: models that could not be trained this time, by name, and why; their cells are not measured.
    """

    measured: int
    planned: int
    others: int
    seconds: float
    stopped: bool
    untrained: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Asking(NamedTuple):
    """One part of a model that is attacked: which cells are missing, and what is to be run for them.

    Attributes:
        cells: what is measured.
        columns: names of the private ones.
        asks: defenses that are attacked; of others a second release tells no more than the first.
        tasks: the attacks.
    """

    cells: Sequence[Cell]
    columns: list[str]
    asks: tuple[str, ...]
    tasks: list[Task]


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
        known: rows measured elsewhere; cells that they are made of are not measured again.
    """

    plan: Plan
    folder: Path
    jobs: int | None = None
    engine: Engine = "local"
    data_dir: Path | None = None
    minutes: float | None = None
    progress: NamedProgress = lambda done, of, what: None
    known: Sequence[Row] = ()
    _guesses: RememberedGuesses = dataclasses.field(default_factory=RememberedGuesses)
    _held: dict[Case, Subject] = dataclasses.field(default_factory=dict)
    _began: float = dataclasses.field(default_factory=time.monotonic)
    _done: int = 0
    _wanted: int = 0
    _until: float = math.inf
    _untrained: dict[str, str] = dataclasses.field(default_factory=dict)
    _unusable: set[tuple[Case, str]] = dataclasses.field(default_factory=set)

    def __post_init__(self) -> None:
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise SettingError(f"minutes must be a number above 0, got {self.minutes}")
        if self.jobs is not None and self.jobs < 1:
            raise SettingError(f"jobs must be 1 or more, got {self.jobs}")
        self.cells = CellFolder(self.folder)
        self._models = Models(
            folder=self.folder / "models",
            jobs=self.jobs,
            engine=self.engine,
            data_dir=self.data_dir,
            plain=[case for case in self.plan.cases if not case.protection],
        )
        self._known = {key for row in self.known for key in row.cells}
        self._known_unusable = {key for row in self.known if row.reason for key in row.cells}

    def run(self) -> Done:
        """Measure what is missing, until all is done or the minutes are over."""
        self._began, stopped = time.monotonic(), False
        self._until = math.inf if self.minutes is None else self._began + 60 * self.minutes
        planned = self._planned()
        self._wanted = sum(not self._has(cell) for _, cells in planned for cell in cells)
        try:
            for wave in waves_of(planned):
                self._measure(wave)
        except TimeIsUpError:
            stopped = True
        return self.so_far(stopped=stopped)

    def so_far(self, *, stopped: bool) -> Done:
        """How far it came; also of a run that was interrupted."""
        # What cannot be used has no further parts.
        every = [
            cell
            for batch, cells in self._planned()
            for cell in cells
            if batch.part is None or (batch.case, cell.defense) not in self._unusable
        ]
        return Done(
            measured=sum(map(self._has, every)),
            planned=len(every),
            others=self.cells.others(cell.key for cell in every),
            seconds=round(time.monotonic() - self._began, 1),
            stopped=stopped,
            untrained=self._untrained,
        )

    def _planned(self) -> list[Planned]:
        return [(batch, cells_of(self.plan, batch)) for batch in self.plan.batches]

    def _has(self, cell: Cell) -> bool:
        return cell.key in self._known or self.cells.has(cell)

    def _is_unusable(self, cell: Cell) -> bool:
        """Whether the defense cannot be used on the model, as its worth says."""
        return cell.key in self._known_unusable or "reason" in (self.cells.get(cell) or {}).get("worth", {})

    def _measure(self, wave: Sequence[Planned]) -> None:
        """What needs no attack first, then every attack of the wave side by side."""
        (first, _), *more = wave
        what = f"{first.case.plain.name}, protected" if more else f"{first.case.name}: {first.what}"
        left = [(batch, cells) for batch, cells in wave if not all(map(self._has, cells))]
        self._models.train((batch.case for batch, _ in left), lambda words: self._tell(0, words))
        asking: list[Asking] = []
        for batch, cells in wave:
            missing = [c for c in cells if not self._has(c) and (batch.case, c.defense) not in self._unusable]
            if missing and batch.case in self._models.failed:
                self._give_up(batch.case)
            elif missing:
                self._tell(0, what)
                with one_thread():
                    if batch.part is None:
                        self._worth(batch, self._subject(batch.case), missing, what)
                    else:
                        asking.append(self._asking(batch, batch.part, self._subject(batch.case), missing))
            if batch.part is None:
                self._unusable |= {(batch.case, cell.defense) for cell in cells if self._is_unusable(cell)}
        if asking:
            self._attack(first.case, asking, what)

    def _give_up(self, case: Case) -> None:
        """Of a model that there is not, nothing is kept: whatever stood in the way may be gone the next time."""
        at_fault = case.plain if case.plain in self._models.failed else case
        self._untrained[at_fault.name] = self._models.failed[case]

    def _worth(self, batch: Batch, subject: Subject, missing: Sequence[Cell], what: str) -> None:
        sample = subject.sample(batch.seed, self.plan.size.worth_rows, 0)
        before = sample.scores
        if batch.case.protection:
            before = self._subject(batch.case.plain).sample(batch.seed, self.plan.size.worth_rows, 0).scores
        asked = [Asked(cell.defense, batch.case.protection, sample, before, batch.seed) for cell in missing]
        by_defense = {cell.defense: cell for cell in missing}
        work = spread(worth_of, asked, jobs=self.jobs, engine=self.engine)
        for one, found in work:
            self.cells.add(by_defense[one.defense], {"worth": found})
            self._done += 1
            self._tell(0, what)

    def _asking(self, batch: Batch, part: Part, subject: Subject, missing: Sequence[Cell]) -> Asking:
        if part.sent and hasattr(subject, "with_coordinator"):
            subject = subject.with_coordinator()  # who sees what the parties send
        specs = tuple(cell.defense for cell in missing)
        asks = specs if part.queries == 1 else self._that_vary(subject, specs, batch.seed)
        grid = self.plan.grid(part, asks or specs[:1], batch.seed)
        studies = list(studies_of([subject], grid, self._guesses)) if asks else []
        tasks = [marked(task) for study in studies for task in tasks_of(study, grid, shown=False)]
        return Asking(missing, [column.name for column in subject.private_columns], asks, tasks)

    def _attack(self, case: Case, asking: Sequence[Asking], what: str) -> None:
        """Run all tasks together, then keep the cells; what an attack found is kept as soon as it is found."""
        cells = sum(len(part.cells) for part in asking)
        found = self._found(case, [task for part in asking for task in part.tasks], cells, what)
        for part in asking:
            findings, found = found[: len(part.tasks)], found[len(part.tasks) :]
            for cell in part.cells:
                mine = [plain_finding(finding) for finding in findings if finding.defense == cell.defense]
                as_once = cell.defense not in part.asks
                self.cells.add(cell, {"columns": part.columns, "findings": mine, "as_once": as_once})
        self._done += cells

    def _found(self, case: Case, tasks: Sequence[Task], cells: int, what: str) -> list[Finding]:
        def tell(done: int, of: int) -> None:
            self._tell(cells * done // max(1, of), what)

        folder = self.folder / "findings" / f"{case.plain.key}{'-protected' if case.protection else ''}"
        return run_kept(tasks, folder, self.jobs, self.engine, tell) if tasks else []

    def _that_vary(self, subject: Subject, specs: Sequence[str], seed: int) -> tuple[str, ...]:
        """The defenses of which a second release tells more than the first."""
        sample = subject.sample(seed, self.plan.size.records, 0)
        return tuple(spec for spec in specs if varies(spec, sample, seed))

    def _subject(self, case: Case) -> Subject:
        if case not in self._held:
            while len(self._held) >= HELD:
                del self._held[next(iter(self._held))]
            self._held[case] = subject_of(case, self._models.folder, self.data_dir)
        return self._held[case]

    def _tell(self, done: int, what: str) -> None:
        self.progress(self._done + done, self._wanted, what)
        if time.monotonic() > self._until:
            raise TimeIsUpError
