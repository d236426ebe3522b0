"""How many queries a record can bear, in words and as a curve; the closed forms are in `repeated_queries`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses import Defense
from privee.defenses.rank_noise import RankNoise
from privee.errors import SettingError
from privee.scores import check_scores
from privee.theory.repeated_queries import Estimator, hit_probability, query_budget, rate, relative_rate

_ESTIMATORS: tuple[Estimator, Estimator] = ("minimum", "midrange")
Rates = dict[Estimator, NDArray[np.float64]]

CURVE = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclasses.dataclass(frozen=True)
class BudgetPoint:
    """Chance that some class's error is below the tolerance after this many queries, worst class."""

    queries: int
    minimum: float
    best: float


@dataclasses.dataclass(frozen=True)
class BudgetPlan:
    """A budget: `queries` against the best attack on one class, `queries_minimum` against the paper's attack.

    None means that there is no limit.
    """

    defense: dict[str, Any]
    classes: int
    tolerance: float
    relative: bool
    probability: float
    queries: int | None
    queries_minimum: int | None
    words: str
    curve: tuple[BudgetPoint, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def plan_budget(
    defense: Defense,
    *,
    classes: int = 10,
    within: float = 0.01,
    tolerance: float | None = None,
    scores: Sequence[float] | None = None,
    probability: float = 0.5,
) -> BudgetPlan:
    """The largest number of queries after which no class is known to the tolerance with more than `probability`.

    Without scores the tolerance is a share of each score (`within`), which needs no scores to be known. With scores
    and an absolute `tolerance`, classes whose whole interval is narrower than the tolerance are left out: they are
    known to that accuracy from one release, whatever the budget.
    """
    if (tolerance is None) != (scores is None):
        raise SettingError("an absolute tolerance needs scores, and scores need a tolerance")
    allowed = within if tolerance is None else tolerance
    plan = BudgetPlan(
        defense=defense.settings(),
        classes=classes if scores is None else len(scores),
        tolerance=allowed,
        relative=tolerance is None,
        probability=probability,
        queries=None,
        queries_minimum=None,
        words="however often the same question is asked, nothing is added to the first release",
    )
    if defense.guarantee(plan.classes).epsilon == 0:
        return plan
    if not isinstance(defense, RankNoise):
        raise SettingError(f"{defense.name} has no query budget in closed form; privee-u and privee-u+ have one")
    kappas: Rates = {name: _rates(defense, classes, scores, name) for name in _ESTIMATORS}
    if tolerance is not None:
        kappas = _leave_out_known(kappas, allowed)
    minimum, best = (int(query_budget(k, tolerance=allowed, probability=probability).min()) for k in kappas.values())
    curve = tuple(_point(kappas, allowed, queries) for queries in CURVE)
    return dataclasses.replace(plan, queries=best, queries_minimum=minimum, words=_words(plan, best), curve=curve)


def _rates(
    defense: RankNoise, classes: int, scores: Sequence[float] | None, estimator: Estimator
) -> NDArray[np.float64]:
    if scores is None:
        return relative_rate(defense, classes, estimator)
    return rate(check_scores(scores)[0], defense, estimator)


def _leave_out_known(kappas: Rates, tolerance: float) -> Rates:
    unknown = kappas["midrange"] * tolerance < 1.0
    if not unknown.any():
        raise SettingError(f"one release already gives every one of these scores to within {tolerance:g}")
    return {name: kappa[unknown] for name, kappa in kappas.items()}


def _point(kappas: Rates, tolerance: float, queries: int) -> BudgetPoint:
    chances = (hit_probability(kappa, tolerance=tolerance, queries=queries).max() for kappa in kappas.values())
    minimum, best = (float(chance) for chance in chances)
    return BudgetPoint(queries, minimum, best)


def _words(plan: BudgetPlan, queries: int) -> str:
    close = f"{100 * plan.tolerance:.3g} % of its value" if plan.relative else f"{plan.tolerance:.3g}"
    when = "after that" if queries else "from the first release on"
    return f"{when}, the chance that some score is known to within {close} is above {plan.probability:.0%}"
