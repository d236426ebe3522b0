"""Repeated queries: how fast the scores come out when one input is asked for again and again.

The appendix's worked example is run through PRIVEE-U itself, with the draws given there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from privee.audit.task import QUERIES, REPEATS, RHOS
from privee.defenses import PriveeU, defense
from privee.defenses.rank_noise import RankNoise
from privee.paper.base import Result, register
from privee.paper.measure.bench import Bench, Case
from privee.paper.measure.repeated_rows import ESTIMATORS, count_misses, curve_rows, within
from privee.paper.outcomes import Account, Outcome, Row, Size, Value
from privee.paper.plots.panels import CurvePanel, Line, panel_grid
from privee.paper.printed import PRIVEE_U, PRIVEE_U_PLUS, privee_u
from privee.randomness import Draws, Shape
from privee.theory import expected_error, minimum_estimate, rate

Points = list[tuple[float, Value]]

AMPLITUDE = 0.485
"""As the appendix has it for this experiment; the main text has 0.48."""
RECORD = 0
FALSE_ALARM = 1e-3
ERROR = "Mean absolute error per class"
DATASETS: dict[Size, tuple[str, ...]] = {"quick": ("digits",), "full": ("mnist", "cifar10")}
ALL_DATASETS: dict[Size, tuple[str, ...]] = {
    "quick": ("digits",),
    "full": ("mnist", "cifar10", "cifar100", "drive", "adult"),
}
ALL_DEFENSES = (PRIVEE_U, privee_u(0.7), PRIVEE_U_PLUS)
MOST_RECORDS: dict[Size, int] = {"quick": 10, "full": 100}


@register
class RepeatedQueries(Result):
    """The minimum estimator on one test input per dataset, beside theory; every point has draws of its own."""

    name: ClassVar[str] = "repeated-queries"
    place: ClassVar[int] = 13
    title: ClassVar[str] = "Error of the scores of one input after repeated queries, PRIVEE-U with C = 0.485"
    source: ClassVar[str] = "figure of repeated queries on MNIST and CIFAR-10 (no numbers printed), worked example"
    band: ClassVar[str] = "mean and 95 % interval over 20 repetitions"

    def settings(self, size: Size) -> dict[str, Any]:
        return {
            "amplitude": AMPLITUDE,
            "record": f"test row {RECORD}",
            "repetitions": REPEATS,
            "queries": QUERIES.tolist(),
            "rho": RHOS,
            "false_alarm": FALSE_ALARM,
            "cases": [Case(dataset=name).said for name in DATASETS[size]],
        }

    def rows(self, bench: Bench) -> list[Row]:
        found = []
        datasets = DATASETS[bench.size]
        for k, name in enumerate(datasets):
            vector = bench.scores(Case(dataset=name)).test[RECORD : RECORD + 1]
            bench.progress(k, len(datasets), f"repeated queries: {name}")
            for rho in RHOS:
                chosen = PriveeU(rho=rho, amplitude=AMPLITUDE)
                where = {"dataset": name, "classes": vector.shape[1], "rho": rho, "sigma": AMPLITUDE / rho}
                found += curve_rows(vector, chosen, where, ("minimum",), len(datasets) * len(RHOS))
        bench.progress(len(datasets), len(datasets), "repeated queries")
        return [*found, example_row()]

    def account(self, rows: Sequence[Row]) -> Account:
        misses, count, p = count_misses(rows)
        example = next(row for row in rows if row.where["dataset"] == EXAMPLE)
        same = all(abs(example.measured[k].value - v.value) < 5e-5 for k, v in example.printed.items())
        ours, theirs = (
            " and ".join(f"{values[k].value:.4f}" for k in example.printed)
            for values in (example.measured, example.printed)
        )
        return Account(
            agrees=p > FALSE_ALARM and same,
            printed=f"measured errors follow theory at every rho; the worked example gives {theirs}",
            measured=f"{within(misses, count, p)}; the worked example gives {ours}",
            reason="" if p > FALSE_ALARM else "More misses than chance explains: the theory does not hold here.",
        )

    def figure(self, outcome: Outcome) -> Figure | None:
        rows = [row for row in outcome.rows if row.where["dataset"] != EXAMPLE]
        panels = [
            CurvePanel(
                title=name, lines=[_line(mine, f"\u03c1 = {rho:g}", "minimum") for rho, mine in _by(these, "rho")]
            )
            for name, these in _by(rows, "dataset")
        ]
        return panel_grid([panels], x="Queries", y=[ERROR])


@register
class RepeatedQueriesEverywhere(Result):
    """All datasets, many records, PRIVEE-U and U+, and estimators that use more than the smallest release."""

    name: ClassVar[str] = "repeated-queries-all"
    place: ClassVar[int] = 21
    title: ClassVar[str] = "Error of the scores of many inputs after repeated queries, by estimator"
    source: ClassVar[str] = "beyond the paper"
    band: ClassVar[str] = "mean and 95 % interval over 20 repetitions, each the mean over records"

    def settings(self, size: Size) -> dict[str, Any]:
        return {
            "records": f"the first {MOST_RECORDS[size]} test rows; fewer with many classes, see records_for",
            "repetitions": REPEATS,
            "queries": QUERIES.tolist(),
            "defenses": ALL_DEFENSES,
            "false_alarm": FALSE_ALARM,
            "cases": [Case(dataset=name).said for name in ALL_DATASETS[size]],
        }

    def rows(self, bench: Bench) -> list[Row]:
        found: list[Row] = []
        jobs = [(name, spec) for name in ALL_DATASETS[bench.size] for spec in ALL_DEFENSES]
        for k, (name, spec) in enumerate(jobs):
            bench.progress(k, len(jobs), f"repeated queries: {name}, {spec}")
            scores = bench.scores(Case(dataset=name)).test
            scores = scores[: records_for(scores.shape[1], bench.size)]
            chosen = defense(spec)
            if not isinstance(chosen, RankNoise):
                raise TypeError(f"{spec} has no intervals to work with")
            where = {"dataset": name, "classes": scores.shape[1], "records": len(scores), "defense": spec}
            found += curve_rows(scores, chosen, where, tuple(ESTIMATORS), len(jobs))
        bench.progress(len(jobs), len(jobs), "repeated queries")
        return found

    def account(self, rows: Sequence[Row]) -> Account:
        misses, count, p = count_misses(rows)
        last = [row.measured for row in rows if row.where["queries"] == QUERIES[-1]]
        better = [now["minimum"].value / now["likelihood"].value for now in last]
        worse = [now["mean"].value / now["minimum"].value for now in last]
        return Account(
            agrees=None,
            printed="nothing; left for future work",
            measured=(
                f"{within(misses, count, p)}, PRIVEE-U+ included; after {QUERIES[-1]:,} queries the likelihood "
                f"estimator errs {min(better):.2g} to {max(better):.2g} times less than the minimum, "
                f"the mean {min(worse):.2g} to {max(worse):.2g} times as much"
            ),
            reason="" if p > FALSE_ALARM else "More misses than chance explains: the theory does not hold here.",
        )

    def figure(self, outcome: Outcome) -> Figure | None:
        shown = (PRIVEE_U, PRIVEE_U_PLUS)
        panels = [
            [
                CurvePanel(title=name, lines=[_line(mine, what, what) for what in ESTIMATORS])
                for name, these in _by(outcome.rows, "dataset")
                for own, mine in _by(these, "defense")
                if own == spec
            ]
            for spec in shown
        ]
        return panel_grid(panels, x="Queries", y=[f"{ERROR}\n{spec}" for spec in shown])


def records_for(classes: int, size: Size) -> int:
    """How many records are asked for: about as much work for every number of classes."""
    return min(MOST_RECORDS[size], max(5, 1000 // classes))


def _by(rows: Sequence[Row], key: str) -> list[tuple[Any, list[Row]]]:
    """Rows grouped by what they are about, in order."""
    values = list(dict.fromkeys(row.where[key] for row in rows))
    return [(value, [row for row in rows if row.where[key] == value]) for value in values]


def _line(rows: Sequence[Row], name: str, estimator: str) -> Line:
    measured: Points = [(row.where["queries"], row.measured[estimator]) for row in rows]
    theory: Points = [(row.where["queries"], row.measured["theory"]) for row in rows]
    return Line(name=name, measured=measured, theory=theory if estimator == "minimum" else [])


EXAMPLE = "worked example"
SCORES = np.array([0.2, 0.8])
GIVEN_DRAWS = np.array([[0.40, 0.90], [0.10, 0.70], [0.30, 0.80]])
"""By query and class; class 0 draws from [0, 0.5], class 1 from [0.5, 1]."""
PRINTED = {"minimum": 0.0633, "theory": 0.0458}


class GivenDraws(Draws):
    """Draws somebody wrote down."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def uniform(self, shape: Shape) -> np.ndarray:
        """The values, if as many are asked for as there are."""
        return self._values.reshape(shape).copy()


def example_row() -> Row:
    """Error for the draws given, and the expected one."""
    chosen = PriveeU(rho=1.0, amplitude=1.0)
    queries, classes = GIVEN_DRAWS.shape
    within = (GIVEN_DRAWS - [0.0, 0.5]) * classes  # where in its interval each draw lies, from 0 to 1
    releases = chosen.release(np.tile(SCORES, (queries, 1)), draws=GivenDraws(within))
    error = float(np.abs(minimum_estimate(releases, chosen) - SCORES).mean())
    theory = float(expected_error(rate(SCORES, chosen), queries=queries).mean())
    return Row(
        where={"dataset": EXAMPLE, "classes": classes, "rho": 1.0, "sigma": 1.0, "queries": queries},
        measured={"minimum": Value(value=error), "theory": Value(value=theory)},
        printed={name: Value(value=value) for name, value in PRINTED.items()},
        note="for the draws given in the appendix",
    )
