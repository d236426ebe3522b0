"""The calls for users: an audit of a model of your own, and one attack on one defense.

The latter works on simulated releases of a subject, or on release files that were really handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from privee.atomic import whole_file
from privee.attacks import attack as make_attack
from privee.attacks.own_model import Outputs
from privee.attacks.watch import Watch
from privee.audit.engine import Engine
from privee.audit.grid import Grid, default_defenses, run_grid
from privee.audit.results import Audit, Finding
from privee.audit.saving import save_audit
from privee.audit.sources import subject_from_arrays
from privee.audit.subject import Subject
from privee.audit.task import Task, attacked, guess_findings, simulated, task_key
from privee.data.score_files.open_files import load_scores
from privee.defenses import defense as make_defense
from privee.errors import PriveeError, SettingError
from privee.progress import Progress


def audit(
    model: Callable[[Any, Any], Any] | Subject,
    active_columns: ArrayLike | None = None,
    passive_columns: ArrayLike | None = None,
    *,
    defenses: Sequence[str] | None = None,
    attacks: Sequence[str] = (),
    outputs: Outputs = "scores",
    labels: ArrayLike | None = None,
    seeds: int = 3,
    records: int = 200,
    auxiliary_rows: int = 500,
    queries: int = 1,
    questions: Sequence[int] | None = None,
    jobs: int | None = None,
    engine: Engine = "local",
    out: Path | str | None = None,
    progress: Progress = lambda done, total: None,
) -> Audit:
    """What does this model's release give away? Attack it with everything, under every defense.

    Args:
        model: function of (active_columns, passive_columns) giving (rows, classes); torch tensors or NumPy arrays.
            Written in torch, it can be attacked by gradients as well. Or a subject, such as `from_sklearn` makes,
            which has its columns and labels already.
        active_columns: columns of the party that asks, the attacker, (rows, columns).
        passive_columns: private columns of the same records.
        defenses: specs, such as "privee-u:rho=0.1"; one of each kind by default.
        attacks: specs; one of each kind by default.
        outputs: "scores" (rows sum to 1) or "logits".
        labels: true class numbers, to see what defenses do to accuracy.
        seeds: repetitions, for intervals.
        records: how many are attacked at a time.
        auxiliary_rows: how many rows the attacker knows in full.
        queries: releases per record.
        questions: how many times an attacker asks who chooses its own columns; 1 and 5 unless attacks are named.
        jobs: how many attacks at once; all cores by default.
        engine: "local", or "ray" for a cluster.
        out: folder for the report and the tables; an interrupted audit goes on there.
        progress: called with (done, total).

    Example:
        >>> import numpy as np
        >>> from scipy.special import softmax
        >>> rng = np.random.default_rng(0)
        >>> active, passive, weights = rng.random((60, 3)), rng.random((60, 2)), rng.normal(size=(5, 4))
        >>> def model(a, p):
        ...     return softmax(np.hstack([a, p]) @ weights, axis=1)
        >>> found = audit(model, active, passive, defenses=["none"], attacks=["equation-solving"], seeds=1, jobs=1)
        >>> found.card("none").grade
        'open'
    """
    subject = _subject_of(model, active_columns, passive_columns, outputs, labels)
    grid = Grid(
        defenses=default_defenses() if defenses is None else tuple(defenses),
        attacks=tuple(attacks),
        seeds=tuple(range(seeds)),
        records=records,
        auxiliary_rows=auxiliary_rows,
        queries=queries,
        naive_once=True,
        questions=None if questions is None else tuple(questions),
    )
    folder = None if out is None else Path(out)
    found = run_grid([subject], grid, jobs=jobs, engine=engine, folder=folder, progress=progress)
    if folder is not None:
        save_audit(found, folder)
    return found


def _subject_of(model: Any, active: Any, passive: Any, outputs: Outputs, labels: Any) -> Subject:
    if isinstance(model, Subject):
        if active is not None or passive is not None or labels is not None:
            raise SettingError("a subject has its columns and labels already: give no others")
        return model
    if active is None or passive is None:
        raise SettingError("audit takes a model with active_columns and passive_columns, or a subject")
    return subject_from_arrays(model, active, passive, outputs=outputs, labels=labels)


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
    # A spec that says nothing is refused before anything is released.
    if make_attack(attack).needs.oracle and released:
        raise PriveeError(f"{attack} asks by itself, and cannot be used on release files")
    protection = make_defense(defense)
    sample = subject.sample(seed, None if released else records, auxiliary_rows)
    if released:
        releases = np.stack([read_release(path, subject) for path in released])
    else:
        releases = simulated(sample, protection, seed, queries)
    guesses = sample.guesses(seed, by_column=make_attack(attack).by_column)
    task = Task(
        key=task_key(sample.fingerprint(), defense, attack, adaptive, seed),
        subject=subject.name,
        sample=sample,
        guesses=guesses,
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
    return finding, guess_findings(subject.name, sample, guesses, seed, keep_shown=False), unknown


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
