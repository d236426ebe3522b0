"""One attack on one defense: on simulated releases of a subject, or on release files that were really handed out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from privee.atomic import whole_file
from privee.attacks import attack as make_attack
from privee.attacks.watch import Watch
from privee.audit.results import Finding
from privee.audit.subject import Subject
from privee.audit.task import Task, attacked, guess_findings, simulated, task_key
from privee.data.score_files.in_memory import load_scores
from privee.defenses import defense as make_defense
from privee.errors import PriveeError


def attack_once(
    subject: Subject,
    attack: str,
    defense: str,
    *,
    adaptive: bool = True,
    seed: int = 0,
    records: int = 200,
    auxiliary_rows: int = 500,
    queries: int = 1,
    released: Sequence[Path] = (),
    watch_for: Callable[[str], Watch] = lambda key: Watch(),
) -> tuple[Finding, list[Finding], Tensor]:
    """The finding, the guesses that need no release, and the reconstructed columns.

    Args:
        subject: what is attacked.
        attack: its spec.
        defense: its spec.
        adaptive: does the attacker use what is public about the defense?
        seed: for the choice of records and rows, the releases and the attack.
        records: how many are attacked.
        auxiliary_rows: how many rows the attacker knows in full.
        queries: releases per record.
        released: release files of all target records, in their order, one per query; none are simulated then.
        watch_for: makes the attack's watch, given a key that is the same for the same work.
    """
    make_attack(attack)  # refuses a spec that says nothing before anything is released
    protection = make_defense(defense)
    sample = subject.sample(seed, None if released else records, auxiliary_rows)
    if released:
        releases = np.stack([read_release(path, subject) for path in released])
    else:
        releases = simulated(sample, protection, seed, queries)
    task = Task(
        key=task_key(sample.fingerprint(), defense, attack, adaptive, seed),
        subject=subject.name,
        sample=sample,
        guess_errors=sample.guess_errors(seed),
        defense=protection.spec,
        attack=attack,
        adaptive=adaptive,
        seed=seed,
        queries=len(releases),
        keep_shown=False,
    )
    finding, unknown = attacked(task, releases, watch_for(task.key[:16]))
    if unknown is None:
        raise PriveeError(f"{attack} cannot be used here: {finding.reason}")
    return finding, guess_findings(subject.name, sample, seed, keep_shown=False), unknown


def read_release(path: Path, subject: Subject) -> NDArray[np.float64]:
    """A release file, checked against what is attacked."""
    values, rows = load_scores(path)
    if len(values) != len(subject.targets):
        raise PriveeError(f"{path} has {len(values)} rows, there are {len(subject.targets)} records to attack")
    if values.shape[1] != subject.model.n_classes:
        raise PriveeError(f"{path} has {values.shape[1]} classes, the model {subject.model.n_classes}")
    if rows is not None and not np.array_equal(rows, subject.targets):
        raise PriveeError(f"{path} holds other rows than the records to attack, or in another order")
    return values


def save_reconstruction(path: Path, unknown: Tensor, *, force: bool = False) -> None:
    """Write reconstructed columns as .npy."""
    if path.suffix != ".npy":
        raise PriveeError(f"{path.name}: reconstructed columns are written as .npy")
    with whole_file(path, force=force) as partial, partial.open("wb") as file:
        np.save(file, unknown.numpy(), allow_pickle=False)
