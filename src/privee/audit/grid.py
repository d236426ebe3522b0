"""The grid: subjects x defenses x attacks x attackers x seeds, run once and summed up."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from privee.attacks import attack as make_attack
from privee.attacks import known_attacks
from privee.audit.cards import make_cards
from privee.audit.engine import Engine, one_thread, run_tasks
from privee.audit.results import Audit, Finding
from privee.audit.saving import FindingsFile
from privee.audit.subject import Sample, Subject
from privee.audit.task import Task, guess_findings, handout, repeated_query_curves, task_key
from privee.defenses import defense as make_defense
from privee.defenses import known_defenses
from privee.errors import PriveeError, SettingError
from privee.progress import Progress
from privee.version import __version__


def default_defenses() -> tuple[str, ...]:
    """The specs that known defenses name for an audit, one or more of each kind."""
    return tuple(spec for cls in known_defenses().values() for spec in cls.audited)


def default_attacks(queries: int) -> tuple[str, ...]:
    """The specs that known attacks name for an audit, if so many queries per record are enough for them."""
    return tuple(spec for cls in known_attacks().values() if cls.needs.queries <= queries for spec in cls.audited)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grid:
    """What an audit tries: defenses, attacks, attackers, records and seeds.

    Attributes:
        defenses, attacks: specs; the defaults hold one of each kind.
        seeds: each draws records, auxiliary rows, releases and the attack's own chances anew.
        records: how many are attacked at a time.
        auxiliary_rows: how many rows the attacker knows in full; 0 for none.
        queries: releases per record.
        attackers: "naive", "adaptive" or both.
        pictures: keep reconstructions of a few records for the report (they show true private columns).
        curves: measure what repeated queries of PRIVEE-U give away.
    """

    defenses: tuple[str, ...] = dataclasses.field(default_factory=default_defenses)
    attacks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    records: int = 200
    auxiliary_rows: int = 500
    queries: int = 1
    attackers: tuple[str, ...] = ("naive", "adaptive")
    pictures: bool = True
    curves: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be run, and write every spec in its one short form."""
        if not self.defenses or not self.seeds:
            raise SettingError("a grid needs at least one defense and one seed")
        for name in ("records", "queries"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} must be 1 or more, got {getattr(self, name)}")
        if not self.attackers or set(self.attackers) - {"naive", "adaptive"}:
            raise SettingError(f"attackers are naive, adaptive or both, got {', '.join(self.attackers) or 'none'}")
        if self.auxiliary_rows < 0:
            raise SettingError(f"auxiliary_rows must be 0 or more, got {self.auxiliary_rows}")
        attacks = self.attacks or default_attacks(self.queries)
        for spec in attacks:
            make_attack(spec)
        object.__setattr__(self, "attacks", tuple(dict.fromkeys(attacks)))
        object.__setattr__(self, "defenses", tuple(dict.fromkeys(make_defense(s).spec for s in self.defenses)))


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
    samples = {
        (subject.name, seed): subject.sample(seed, grid.records, grid.auxiliary_rows)
        for subject in subjects
        for seed in grid.seeds
    }
    first = grid.seeds[0]
    with one_thread():
        guesses = {
            (name, seed): guess_findings(name, sample, seed, keep_shown=grid.pictures and seed == first)
            for (name, seed), sample in samples.items()
        }
    tasks = list(_tasks(samples, guesses, grid, {subject.name for subject in subjects if subject.image is not None}))
    found = _run(tasks, folder, jobs, engine, progress)
    infos = tuple(subject.info(samples[subject.name, first]) for subject in subjects)
    findings = (*(finding for some in guesses.values() for finding in some), *found)
    handouts = tuple(handout(n, sample, spec, seed) for (n, seed), sample in samples.items() for spec in grid.defenses)
    return Audit(
        about=_about(grid, engine, time.perf_counter() - start, about or {}),
        subjects=infos if grid.pictures else tuple(dataclasses.replace(info, picture=None) for info in infos),
        findings=findings,
        handouts=handouts,
        cards=make_cards(infos, findings, handouts),
        curves=repeated_query_curves(subjects[0].name, samples[subjects[0].name, first].scores, seed=first)
        if grid.curves
        else (),
    )


def _tasks(
    samples: dict[tuple[str, int], Sample],
    guesses: dict[tuple[str, int], list[Finding]],
    grid: Grid,
    with_images: set[str],
) -> Iterable[Task]:
    for (name, seed), sample in samples.items():
        errors = {guess.attack: guess.feature_mse or 0.0 for guess in guesses[name, seed]}
        fingerprint = sample.fingerprint()
        shown = grid.pictures and seed == grid.seeds[0] and name in with_images
        for defense in grid.defenses:
            for attack in grid.attacks:
                for adaptive in (who == "adaptive" for who in grid.attackers):
                    yield Task(
                        key=task_key(fingerprint, defense, attack, adaptive, seed, grid.queries, shown),
                        subject=name,
                        sample=sample,
                        guess_errors=errors,
                        defense=defense,
                        attack=attack,
                        adaptive=adaptive,
                        seed=seed,
                        queries=grid.queries,
                        keep_shown=shown,
                    )


def _run(
    tasks: Sequence[Task], folder: Path | None, jobs: int | None, engine: Engine, progress: Progress
) -> list[Finding]:
    """Findings in the order of the tasks; what the folder holds already is not run again."""
    with FindingsFile(None if folder is None else folder / "findings.jsonl") as store:
        left = [task for task in tasks if store.get(task.key) is None]
        done = len(tasks) - len(left)
        progress(done, len(tasks))
        checkpoints = None if folder is None else folder / "checkpoints"
        for task, finding in run_tasks(left, jobs=jobs, engine=engine, checkpoints=checkpoints) if left else ():
            store.add(task.key, finding)
            done += 1
            progress(done, len(tasks))
        # The subject's name is not part of the key: the same model may be called something else now.
        return [dataclasses.replace(_held(store, task), subject=task.subject) for task in tasks]


def _held(store: FindingsFile, task: Task) -> Finding:
    finding = store.get(task.key)
    assert finding is not None  # noqa: S101 (every task has run)
    return finding


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
