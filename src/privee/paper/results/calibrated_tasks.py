"""Tasks that need calibrated scores: trusting the top score, teaching a student, averaging several models.

Students are small networks that learn from score vectors what a larger model knows.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from privee.audit.engine import one_thread
from privee.defenses import Defense, defense
from privee.paper.base import Result, register
from privee.paper.measure.bench import Bench, Case
from privee.paper.outcomes import Account, Row, Size, mean_interval
from privee.paper.printed import PRINTED_AS, PRIVEE_U, PRIVEE_U_PLUS
from privee.randomness import seeded
from privee.scores.calibration import calibration_error
from privee.scores.forms import Floats
from privee.vfl.seeds import batches, build

Array = NDArray[np.float64]

DATASETS: dict[Size, tuple[str, ...]] = {"quick": ("digits",), "full": ("digits", "mnist", "drive", "adult")}
SEEDS: dict[Size, int] = {"quick": 3, "full": 5}
FRACTIONS = (0.25, 0.5, 0.75)
"""Members of the ensemble: the same records, columns split differently between the parties. Not different seeds,
because a seed also draws which records of digits and Drive are kept for testing."""
STUDENT_ROWS = 10_000
READINGS = ("as it stands", "inverse")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class TaskData:
    """What the tasks work on: the active party's columns, the model's scores, and other models' scores of the test.

    Attributes:
        members: test scores of all models of the ensemble, the first one's among them.
    """

    dataset: str
    own_train: Features
    own_test: Features
    train: Array
    test: Array
    test_labels: NDArray[np.int64]
    members: tuple[Array, ...]


@register
class CalibratedTasks(Result):
    """Calibration error of the top score, accuracy of a distilled student and of an ensemble, from releases."""

    name: ClassVar[str] = "calibrated-tasks"
    place: ClassVar[int] = 22
    title: ClassVar[str] = "Tasks that need calibrated scores, from releases instead of scores"
    source: ClassVar[str] = "beyond the paper"
    band: ClassVar[str] = "mean and 95 % interval over draws and students' seeds"

    def settings(self, size: Size) -> dict[str, Any]:
        return {
            "seeds": SEEDS[size],
            "readings": {
                "as it stands": "values below zero set to zero, the rest scaled to sum to one",
                "inverse": "the defense's best public inverse",
            },
            "student": f"64 hidden units on the active party's columns, {STEPS} steps, at most {STUDENT_ROWS} rows",
            "ensemble": f"three joint models whose active party holds {FRACTIONS} of the columns",
            "cases": [Case(dataset=name, fraction=share).said for name in DATASETS[size] for share in FRACTIONS],
        }

    def rows(self, bench: Bench) -> list[Row]:
        found: list[Row] = []
        for name in DATASETS[bench.size]:
            data = task_data(bench, name)
            found += task_rows(data, tuple(PRINTED_AS), SEEDS[bench.size], bench.progress)
        return found

    def account(self, rows: Sequence[Row]) -> Account:
        plain = [row for row in rows if row.where["defense"] == "none"]
        ours = [row for row in rows if row.where["defense"] in {PRIVEE_U, PRIVEE_U_PLUS}]
        naive, undone = ([row for row in ours if row.where["reading"] == reading] for reading in READINGS)
        return Account(
            agrees=None,
            printed="nothing; left for future work",
            measured=(
                f"calibration error {_span(plain, 'calibration_error')} of scores, "
                f"{_span(naive, 'calibration_error')} of PRIVEE releases as they stand, "
                f"{_span(undone, 'calibration_error')} after the public inverse; students change by "
                f"{_span(naive, 'student_change')} and {_span(undone, 'student_change')} points, ensembles by "
                f"{_span(naive, 'ensemble_change')} and {_span(undone, 'ensemble_change')} points"
            ),
        )


def as_it_stands(release: Floats) -> Array:
    """A release as a naive user reads it: no negative values, scaled to sum to one; nothing left means no opinion."""
    kept = np.maximum(release.astype(np.float64, copy=False), 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), 1.0 / release.shape[1])


def read(release: Floats, chosen: Defense, reading: str) -> Array:
    """A release as the user of a reading sees it."""
    return as_it_stands(release if reading == READINGS[0] else chosen.estimate_scores(release))


def task_data(bench: Bench, dataset: str) -> TaskData:
    """Train what is missing and take columns and scores."""
    cases = [Case(dataset=dataset, fraction=fraction) for fraction in FRACTIONS]
    middle = Case(dataset=dataset)
    (subject,) = bench.subjects([middle])
    scores = bench.scores(middle)
    own = subject.columns[:, : subject.model.own_columns]
    order = np.argsort(seeded(0, "student rows").words(len(subject.auxiliary)), kind="stable")[:STUDENT_ROWS]
    return TaskData(
        dataset=dataset,
        own_train=np.ascontiguousarray(own[subject.auxiliary[order]], dtype=np.float32),
        own_test=np.ascontiguousarray(own[subject.targets], dtype=np.float32),
        train=scores.train[order],
        test=scores.test,
        test_labels=scores.test_labels,
        members=tuple(bench.scores(case).test for case in cases),
    )


def task_rows(
    data: TaskData, specs: Sequence[str], seeds: int, progress: Callable[[int, int, str], None] = lambda *_: None
) -> list[Row]:
    """One row per defense and reading; changes are against true scores with the same seed."""
    taught = [_student(data, data.train, seed) for seed in range(seeds)]
    together = _hits(np.mean(data.members, axis=0), data)
    found = []
    for k, spec in enumerate(specs):
        progress(k, len(specs), f"calibrated tasks: {data.dataset}, {spec}")
        chosen = defense(spec)
        for reading in READINGS if spec != "none" else READINGS[:1]:
            made = [_measure(data, chosen, reading, seed) for seed in range(seeds)]
            errors, students, ensembles = (list(values) for values in zip(*made, strict=True))
            measured = {
                "calibration_error": mean_interval(errors),
                "student_accuracy": mean_interval(students),
                "student_change": mean_interval([a - b for a, b in zip(students, taught, strict=True)]),
                "ensemble_accuracy": mean_interval(ensembles),
                "ensemble_change": mean_interval([value - together for value in ensembles]),
            }
            where = {"dataset": data.dataset, "defense": spec, "reading": reading}
            found.append(Row(where=where, measured=measured))
    progress(len(specs), len(specs), f"calibrated tasks: {data.dataset}")
    return found


def _measure(data: TaskData, chosen: Defense, reading: str, seed: int) -> tuple[float, float, float]:
    """Calibration error, student's accuracy and ensemble's accuracy with fresh draws."""

    def seen(scores: Array, what: str) -> Array:
        return read(chosen.release(scores, draws=seeded(seed, what, chosen.spec)), chosen, reading)

    members = [seen(scores, f"member {k}") for k, scores in enumerate(data.members)]
    return (
        calibration_error(seen(data.test, "calibration"), data.test_labels),
        _student(data, seen(data.train, "student"), seed),
        _hits(np.mean(members, axis=0), data),
    )


def _student(data: TaskData, targets: Array, seed: int) -> float:
    return student_accuracy(distil(data.own_train, targets, seed), data.own_test, data.test_labels)


def _hits(scores: Array, data: TaskData) -> float:
    return 100.0 * float((scores.argmax(axis=1) == data.test_labels).mean())


def _span(rows: Sequence[Row], figure: str) -> str:
    values = [f"{row.measured[figure].value:.3g}" for row in sorted(rows, key=lambda row: row.measured[figure].value)]
    return " to ".join(dict.fromkeys(values[:1] + values[-1:])) or "not measured"


HIDDEN = 64
STEPS = 500
BATCH = 128
LEARNING_RATE = 3e-3

Features = NDArray[np.float32]


def distil(columns: Features, targets: NDArray[np.float64], seed: int) -> nn.Module:
    """One hidden layer, trained to give the target vectors (rows sum to one) by cross entropy."""
    inputs, wanted = torch.from_numpy(columns), torch.from_numpy(targets.astype(np.float32))
    student = build(
        seed,
        "student",
        lambda: nn.Sequential(
            nn.Linear(inputs.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, wanted.shape[1]), nn.LogSoftmax(dim=1)
        ),
    )
    optimizer = torch.optim.Adam(student.parameters(), lr=LEARNING_RATE, fused=True)
    with one_thread():
        for rows in _batches(len(inputs), seed):
            loss = -(wanted[rows] * student(inputs[rows])).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return student.eval()


def student_accuracy(student: nn.Module, columns: Features, labels: NDArray[np.int64]) -> float:
    """Percent of rows whose leading class is the true one."""
    with torch.inference_mode():
        found = student(torch.from_numpy(columns)).argmax(dim=1).numpy()
    return 100.0 * float((found == labels).mean())


def _batches(count: int, seed: int) -> Iterator[Tensor]:
    """As many batches as there are steps, epoch after epoch."""
    epochs = (batches(torch.arange(count), BATCH, seed, epoch) for epoch in itertools.count())
    return itertools.islice(itertools.chain.from_iterable(epochs), STEPS)
