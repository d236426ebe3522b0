"""Accuracy: of the joint models, and what each defense does to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses import defense
from privee.paper.base import Result, register
from privee.paper.measure.bench import Bench, Case
from privee.paper.outcomes import Account, Row, Size, Value, mean_interval
from privee.paper.printed import PRINTED_AS, printed, printed_tables
from privee.randomness import seeded

CHANGE, BASELINE = "train_accuracy_change_grna_strength_50", "baseline_accuracy"
DATASETS: dict[Size, tuple[str, ...]] = {
    "quick": ("digits", "breast-cancer"),
    "full": ("mnist", "cifar10", "cifar100", "drive", "adult"),
}
LOGISTIC: dict[Size, tuple[str, ...]] = {"quick": ("breast-cancer",), "full": ("drive", "adult")}
"""The paper names two models for these, "NN, LR", and prints one accuracy: both are compared with it."""
SEEDS: dict[Size, int] = {"quick": 3, "full": 10}
FEW_ROWS = 200
"""If two releases of so many rows are the same, all are: one is enough."""
EXACT = ("privee-u", "privee-u+", "ope", "fh-ope")
"""Kinds of defenses that keep the order, and so every decision; OPE in both schemes."""


def _networks(size: Size) -> list[Case]:
    return [Case(dataset=name) for name in DATASETS[size]]


def _with_logistic(size: Size) -> list[Case]:
    return [*_networks(size), *(Case(dataset=name, model="logistic") for name in LOGISTIC[size])]


@register
class AccuracyChange(Result):
    """Points of training accuracy gained or lost by each defense; zero for whatever keeps the leading class."""

    name: ClassVar[str] = "accuracy-change"
    place: ClassVar[int] = 2
    title: ClassVar[str] = "Change of accuracy in percentage points, attacker knows 50 % of the columns"
    source: ClassVar[str] = "table of training accuracy change at strength 50 %"
    band: ClassVar[str] = "mean and 95 % interval over draws"

    def settings(self, size: Size) -> dict[str, object]:
        return {"draws": SEEDS[size], "fraction": 0.5, "cases": [case.said for case in _networks(size)]}

    def rows(self, bench: Bench) -> list[Row]:
        cases = _networks(bench.size)
        bench.subjects(cases)
        found = []
        for k, case in enumerate(cases):
            bench.progress(k, len(cases), f"accuracy behind defenses: {case.dataset}")
            found += _changes(bench, case)
        return found

    def beside(self, rows: Sequence[Row]) -> list[Row]:
        return [
            dataclasses.replace(row, printed=_printed_change(row.where["dataset"], PRINTED_AS[row.where["defense"]]))
            for row in rows
        ]

    def account(self, rows: Sequence[Row]) -> Account:
        exact = [row for row in rows if str(row.where["defense"]).split(":")[0] in EXACT]
        moved = [row for row in exact if any(value.value or value.low or value.high for value in row.measured.values())]
        compared = list(_by_printed(rows).values())
        far = [some for some in compared if not any(_within_a_point(row) for row in some)]
        gained = [some for some in compared if some[0].printed["train_change"].value > 1]
        return Account(
            agrees=None if not compared else not far and not moved,
            printed=f"PRIVEE-U, PRIVEE-U+ and OPE change nothing; {len(gained)} figures show noise that adds accuracy",
            measured=(
                f"{len(exact) - len(moved)} of {len(exact)} rows of these three change nothing at all; "
                f"{len(compared) - len(far)} of {len(compared)} printed changes lie within one point of ours"
            ),
            reason="Noise cannot add tens of points of accuracy: those figures look like losses without a sign."
            if gained
            else "",
        )


def _by_printed(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """The rows that each printed change is compared with: PRIVEE is measured in two settings, printed once."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.printed:
            found.setdefault((row.where["dataset"], PRINTED_AS[row.where["defense"]]), []).append(row)
    return found


def _within_a_point(row: Row) -> bool:
    return abs(row.measured["train_change"].value - row.printed["train_change"].value) <= 1


def _changes(bench: Bench, case: Case) -> list[Row]:
    scores, seeds = bench.scores(case), SEEDS[bench.size]
    parts = {"train": (scores.train, scores.train_labels), "test": (scores.test, scores.test_labels)}
    found = []
    for spec, name in PRINTED_AS.items():
        measured = {f"{part}_change": _change(spec, *both, seeds) for part, both in parts.items()}
        found.append(
            Row(
                where={"dataset": case.dataset, "defense": spec},
                measured=measured,
                printed=_printed_change(case.dataset, name),
            )
        )
    return found


def _printed_change(dataset: str, name: str) -> dict[str, Value]:
    value = printed(CHANGE, dataset, name) if dataset in printed_tables()[CHANGE] else None
    return {} if value is None else {"train_change": value}


def _change(spec: str, scores: NDArray[np.float64], labels: NDArray[np.int64], seeds: int) -> Value:
    made, before = defense(spec), (scores.argmax(axis=1) == labels).mean()
    one, other = (made.release(scores[:FEW_ROWS], draws=seeded(seed, "accuracy", spec)) for seed in (0, 1))
    after = [
        (made.release(scores, draws=seeded(seed, "accuracy", spec)).argmax(axis=1) == labels).mean()
        for seed in range(1 if np.array_equal(one, other) else seeds)
    ]
    return mean_interval([100.0 * float(value - before) for value in after])


@register
class BaselineAccuracy(Result):
    """Accuracy of the joint models before any defense."""

    name: ClassVar[str] = "baseline-accuracy"
    place: ClassVar[int] = 12
    title: ClassVar[str] = "Accuracy of the joint models, percent"
    source: ClassVar[str] = "table of baseline accuracies"
    band: ClassVar[str] = "one trained model each"

    def settings(self, size: Size) -> dict[str, object]:
        return {"cases": [case.said for case in _with_logistic(size)]}

    def rows(self, bench: Bench) -> list[Row]:
        cases = _with_logistic(bench.size)
        bench.subjects(cases)
        return [_baseline(bench, case) for case in cases]

    def account(self, rows: Sequence[Row]) -> Account:
        gaps = {
            _named(row): row.measured["test_accuracy"].value - row.printed["test_accuracy"].value
            for row in rows
            if row.printed
        }
        if not gaps:
            return Account(agrees=None, printed="nothing for these models", measured=f"{len(rows)} models")
        near = [name for name, gap in gaps.items() if abs(gap) <= 2]
        return Account(
            agrees=len(near) == len(gaps),
            printed=f"test accuracies of {len(gaps)} models",
            measured=f"within two points for {', '.join(near) or 'none'}; gaps "
            + ", ".join(f"{name} {gap:+.1f}" for name, gap in gaps.items()),
            reason=""
            if len(near) == len(gaps)
            else "Other networks, splits or subsets of the data (CIFAR here is the first 20,000 training images); the "
            "released code loads CIFAR-10 for CIFAR-100, and leaves Adult's columns unscaled.",
        )


def _named(row: Row) -> str:
    return f"{row.where['dataset']}{' (logistic)' if row.where['model'] == 'logistic' else ''}"


def _baseline(bench: Bench, case: Case) -> Row:
    scores = bench.scores(case)
    ours = {
        "train_accuracy": 100.0 * float((scores.train.argmax(axis=1) == scores.train_labels).mean()),
        "test_accuracy": 100.0 * float((scores.test.argmax(axis=1) == scores.test_labels).mean()),
    }
    known = case.dataset in printed_tables()[BASELINE]
    values = {"train_accuracy": "train", "test_accuracy": "inference"}
    theirs = {k: printed(BASELINE, case.dataset, name) for k, name in values.items()} if known else {}
    return Row(
        where={"dataset": case.dataset, "model": case.training["model"], "classes": scores.test.shape[1]},
        measured={name: Value(value=value) for name, value in ours.items()},
        printed={name: value for name, value in theirs.items() if value is not None},
    )
