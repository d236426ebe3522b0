"""The grid: subjects x defenses x attacks x attackers x seeds, run once and summed up."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from privee.attacks import attack as make_attack
from privee.attacks import known_attacks
from privee.audit.cards import make_cards
from privee.audit.engine import Engine, one_thread, run_tasks
from privee.audit.exposure.findings import USUAL_BOUND, Bound
from privee.audit.results import Audit, Finding
from privee.audit.saving import FindingsFile
from privee.audit.subject import Sample, Subject
from privee.audit.task import Task, guess_findings, handout, reads_as_released, repeated_query_curves, task_key
from privee.defenses import defense as make_defense
from privee.defenses import known_defenses
from privee.errors import PriveeError, SettingError
from privee.progress import Progress
from privee.version import __version__

RECORDS, AUXILIARY_ROWS = 200, 500
"""For attacks that rebuild whole records."""
ASKED_RECORDS = 60
"""For attacks that ask about each of them again and again."""
QUESTIONS = (1, 5)
CHOSEN = "chosen-columns:questions={}"


def default_defenses() -> tuple[str, ...]:
    """The specs that known defenses name for an audit, one or more of each kind."""
    return tuple(spec for cls in known_defenses().values() for spec in cls.audited)


def default_attacks(queries: int) -> tuple[str, ...]:
    """The specs that known attacks name for an audit, if so many queries per record are enough for them."""
    able = (cls for cls in known_attacks().values() if cls.needs.queries <= queries)
    return tuple(spec for cls in able for spec in cls.audited)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grid:
    """What an audit tries: defenses, attacks, attackers, records and seeds.

    Attributes:
        defenses, attacks: specs; the defaults hold one of each kind.
        seeds: each draws records, auxiliary rows, releases and the attack's own chances anew.
        records: how many are attacked at a time; unless given, 200 by attacks that rebuild whole records, and
            `column_limit` by those that learn each column by itself.
        auxiliary_rows: how many rows the attacker knows in full, 0 for none; unless given, 500 and `column_limit`.
        column_limit: see above; fewer where there are fewer.
        bound: when a column of a person counts as known.
        queries: releases per record.
        questions: how many times an attacker asks who chooses its own columns; 1 and 5 unless attacks are named, and
            () for not at all.
        attackers: "naive", "adaptive" or both.
        naive_once: try naive ones with the first seed alone where adaptive ones are tried too and it is not the same
            work: they show what ignoring a defense makes of it, and take their time.
        pictures: keep reconstructions of a few records for the report (they show true private columns).
        curves: measure what repeated queries of PRIVEE-U give away.
        own_columns: measure what the attacker's own columns alone are worth for the task.
    """

    defenses: tuple[str, ...] = dataclasses.field(default_factory=default_defenses)
    attacks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    records: int | None = None
    auxiliary_rows: int | None = None
    column_limit: int = 10_000
    bound: Bound = USUAL_BOUND
    queries: int = 1
    questions: tuple[int, ...] | None = None
    attackers: tuple[str, ...] = ("naive", "adaptive")
    naive_once: bool = False
    pictures: bool = True
    curves: bool = True
    own_columns: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be run, and write every spec in its one short form."""
        if not self.defenses or not self.seeds:
            raise SettingError("a grid needs at least one defense and one seed")
        for name in ("records", "queries", "column_limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(f"{name} must be 1 or more, got {value}")
        if not self.attackers or set(self.attackers) - {"naive", "adaptive"}:
            raise SettingError(f"attackers are naive, adaptive or both, got {', '.join(self.attackers) or 'none'}")
        if self.auxiliary_rows is not None and self.auxiliary_rows < 0:
            raise SettingError(f"auxiliary_rows must be 0 or more, got {self.auxiliary_rows}")
        questions = (() if self.attacks else QUESTIONS) if self.questions is None else self.questions
        if any(isinstance(count, bool) or count < 1 for count in questions):
            raise SettingError(f"questions must be 1 or more, got {min(questions)}")
        object.__setattr__(self, "questions", tuple(sorted(set(questions))))
        attacks = self.attacks or default_attacks(self.queries)
        for spec in attacks:
            make_attack(spec)
        object.__setattr__(self, "attacks", tuple(dict.fromkeys(attacks)))
        object.__setattr__(self, "defenses", tuple(dict.fromkeys(make_defense(s).spec for s in self.defenses)))

    @property
    def asking(self) -> tuple[str, ...]:
        """The attacks that ask with own columns of their choice."""
        named = [spec for spec in self.attacks if make_attack(spec).needs.oracle]
        return tuple(dict.fromkeys([*map(CHOSEN.format, self.questions or ()), *named]))

    def sample(self, subject: Subject, seed: int, *, by_column: bool = False, asking: bool = False) -> Sample:
        """The records that attacks of one kind get."""
        records, rows = (self.column_limit, self.column_limit) if by_column else (RECORDS, AUXILIARY_ROWS)
        records = records if self.records is None else self.records
        records = min(records, ASKED_RECORDS) if asking else records
        return subject.sample(seed, records, rows if self.auxiliary_rows is None else self.auxiliary_rows)


def run_grid(
    subjects: Sequence[Subject],
    grid: Grid,
    *,
    jobs: int | None = None,
    engine: Engine = "local",
    folder: Path | None = None,
    progress: Progress = lambda done, total: None,
    about: dict[str, Any] | None = None,
) -> Audit:
    """Run the whole grid; with a folder, findings are kept as they come and an interrupted grid goes on there."""
    start = time.perf_counter()
    _check_names(subjects)
    first = grid.seeds[0]
    with one_thread():
        studies = list(studies_of(subjects, grid))
    pictured = {subject.name for subject in subjects if subject.image is not None} if grid.pictures else set()
    tasks = [task for study in studies for task in tasks_of(study, grid, shown=study.subject in pictured)]
    found = run_kept(tasks, folder, jobs, engine, progress)
    many = {study.subject: study.sample for study in studies if study.by_column}
    few = {(study.subject, study.seed): study.sample for study in studies if study.whole}
    infos = tuple(
        subject.info(few[subject.name, first], many[subject.name], own_columns=grid.own_columns) for subject in subjects
    )
    guesses = [
        guess_findings(s.subject, s.sample, s.guesses, s.seed, keep_shown=grid.pictures and s.seed == first)
        for s in studies
        if s.whole
    ]
    findings = (*(finding for some in guesses for finding in some), *found)
    handouts = tuple(
        handout(name, sample, spec, seed, many[name] if seed == first else None)
        for (name, seed), sample in few.items()
        for spec in grid.defenses
    )
    return Audit(
        about=_about(grid, engine, time.perf_counter() - start, about or {}),
        subjects=infos if grid.pictures else tuple(dataclasses.replace(info, picture=None) for info in infos),
        findings=findings,
        handouts=handouts,
        cards=make_cards(infos, findings, handouts, grid.bound),
        curves=repeated_query_curves(subjects[0].name, few[subjects[0].name, first].scores, seed=first)
        if grid.curves
        else (),
    )


Guessed = Callable[..., Mapping[str, Tensor]]
"""`Sample.guesses`, or one that remembers."""


class Study(NamedTuple):
    """Records under attack, with what can be guessed about them.

    By column: for attacks that learn each by itself; asking: for those that choose what they ask.
    """

    subject: str
    seed: int
    by_column: bool
    sample: Sample
    guesses: Mapping[str, Tensor]
    attacks: tuple[str, ...]
    asking: bool = False

    @property
    def whole(self) -> bool:
        """For attacks that rebuild whole records from what is released when asked honestly."""
        return not self.by_column and not self.asking


def studies_of(subjects: Sequence[Subject], grid: Grid, guessed: Guessed = Sample.guesses) -> Iterator[Study]:
    """Of every subject some records for each seed, and many records once: their number makes intervals narrow."""
    alone = tuple(spec for spec in grid.attacks if make_attack(spec).by_column)
    others = tuple(spec for spec in grid.attacks if spec not in alone and spec not in grid.asking)
    for subject in subjects:
        for seed in grid.seeds:
            sample = grid.sample(subject, seed, by_column=False)
            yield Study(subject.name, seed, False, sample, guessed(sample, seed), others)
        first = grid.seeds[0]
        many = grid.sample(subject, first, by_column=bool(alone))
        guesses = guessed(many, first, by_column=True) if alone else {}
        yield Study(subject.name, first, True, many, guesses, alone)
        if grid.asking:
            asked = grid.sample(subject, first, asking=True)
            yield Study(subject.name, first, False, asked, guessed(asked, first), grid.asking, asking=True)


def tasks_of(study: Study, grid: Grid, *, shown: bool) -> Iterator[Task]:
    """Every attack of a study on every defense; `shown` keeps reconstructions for pictures."""
    fingerprint = study.sample.fingerprint()
    keep = shown and study.seed == grid.seeds[0] and not study.by_column
    bound = dataclasses.astuple(grid.bound)
    for defense in grid.defenses:
        nothing_to_undo = study.whole and reads_as_released(study.sample, defense, study.seed)
        for attack in study.attacks:
            # Who learns from releases, or chooses what to ask, has no use for ignoring the defense.
            for who in grid.attackers if study.whole else ("adaptive",):
                adaptive = who == "adaptive"
                # Where knowing the defense changes nothing it is the same work, done once.
                knows = adaptive or (nothing_to_undo and make_attack(attack).reads_only)
                if not knows and grid.naive_once and "adaptive" in grid.attackers and study.seed != grid.seeds[0]:
                    continue
                # Who has what parties send needs no release: one attack counts under every defense.
                needs = make_attack(attack).needs
                release = "" if needs.codes or needs.embeddings else defense
                yield Task(
                    key=task_key(fingerprint, release, attack, knows, study.seed, grid.queries, keep, bound),
                    subject=study.subject,
                    sample=study.sample,
                    guesses=study.guesses,
                    defense=defense,
                    attack=attack,
                    adaptive=adaptive,
                    seed=study.seed,
                    queries=grid.queries,
                    keep_shown=keep,
                    bound=grid.bound,
                )


def run_kept(
    tasks: Sequence[Task], folder: Path | None, jobs: int | None, engine: Engine, progress: Progress
) -> list[Finding]:
    """Findings in the order of the tasks; what the folder holds already is not run again."""
    with FindingsFile(None if folder is None else folder / "findings.jsonl") as store:
        alike = {task.key: task for task in tasks}
        # The long ones first, so that no core waits at the end.
        left = sorted(
            (t for t in alike.values() if store.get(t.key) is None),
            key=lambda t: t.named().questions == 0 and not t.named().by_column,
        )
        done, total = len(alike) - len(left), len(alike)
        progress(done, total)
        checkpoints = None if folder is None else folder / "checkpoints"
        if left:
            with contextlib.closing(run_tasks(left, jobs=jobs, engine=engine, checkpoints=checkpoints)) as findings:
                for task, finding in findings:
                    store.add(task.key, finding)
                    done += 1
                    progress(done, total)
        return [_held(store, task) for task in tasks]


def _held(store: FindingsFile, task: Task) -> Finding:
    """What was found, in this task's own name: the same model may be called something else now."""
    finding = store.get(task.key)
    assert finding is not None  # noqa: S101 (every task has run)
    named = task.named()
    return dataclasses.replace(finding, subject=named.subject, defense=named.defense, attacker=named.attacker)


def _check_names(subjects: Sequence[Subject]) -> None:
    names = [subject.name for subject in subjects]
    if not names or len(set(names)) < len(names):
        raise PriveeError("an audit needs one subject or more, each with a name of its own")


def _about(grid: Grid, engine: Engine, seconds: float, more: dict[str, Any]) -> dict[str, Any]:
    return more | {
        "privee": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seconds": round(seconds, 1),
        "engine": engine,
        "grid": dataclasses.asdict(grid),
    }
