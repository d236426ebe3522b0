"""Printed figures that do not fit together, computed from the printed tables and from what was measured.

How large an attack's confidence residual can get: what no printed figure of that kind can exceed.

For one record the residual is the mean over K classes of (s_j - p_j)^2: the scores s that the model gives for the
columns an attack found, against the release p_j = c_j f_j - 2/K with a factor f_j from a known interval. Whatever the
scores c, the draws and the attack, s and c are probability vectors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses import PriveeU, defense
from privee.defenses.rank_noise import RankNoise
from privee.paper.measure.agreement import compared_figures, count_met
from privee.paper.outcomes import Outcome
from privee.paper.printed import PRIVEE_U, PRIVEE_U_AS_RELEASED, printed, printed_tables
from privee.paper.released.releases import REVERSED_SCHEDULE

Array = NDArray[np.float64]

STRENGTHS = (25, 50, 75)
BY_RHO, BY_CLIENTS = "grna_mnist_privee_u_by_rho_25_clients", "grna_mnist_privee_u_by_clients_rho_0.1"
GIA_BY_CLIENTS = "gia_mse_mnist_strength_50_by_clients"
HALF = 0.25
"""A column in [0, 1] that is answered with 0.5 errs by at most 0.25 (squared)."""
BEHIND = ("none", "privee-u", "privee-u+")
"""What bounds are worked out for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrintedFigure:
    """One printed attack figure, undefended or behind PRIVEE, and the largest confidence residual possible there.

    Attributes:
        mean_bound: of the mean over draws, for any scores and any attack.
        bound: for any draws as well.
    """

    table: str
    where: str
    value: float
    mean_bound: float
    bound: float


def printed_figures() -> list[PrintedFigure]:
    """All printed attack figures undefended and behind PRIVEE, with draws and schedule of the released code."""
    return [
        PrintedFigure(table=table, where=where, value=value, **_bounds(behind, classes))
        for table, where, behind, classes, value in _figures()
    ]


def beyond_reach() -> list[PrintedFigure]:
    """Printed figures above the largest mean residual."""
    return [figure for figure in printed_figures() if figure.value > figure.mean_bound]


def met_as(outcomes: Iterable[Outcome]) -> tuple[int, dict[str, int]]:
    """Printed attack figures compared, and how many are near our confidence residual and our feature MSE."""
    found = [compared_figures(outcome.rows) for outcome in outcomes]
    met = {name: sum(count_met(some, name) for some in found) for name in ("confidence_residual", "feature_mse")}
    return sum(map(len, found)), met


def two_values() -> tuple[float, float]:
    """PRIVEE-U on MNIST, 25 clients, rho = 0.1, GRNA: by number of clients, and by rho."""
    found = printed(BY_CLIENTS, "25", "mse_with"), printed(BY_RHO, "0.10", "mse_with")
    return tuple(value.value for value in found if value is not None)  # type: ignore[return-value]


def rises_with_rho() -> list[tuple[str, str]]:
    """Neighbouring values of rho between which the printed error rises, though it is said to fall."""
    table = printed_tables()[BY_RHO]
    return [(a, b) for a, b in pairwise(sorted(table, key=float)) if table[b]["mse_with"] > table[a]["mse_with"]]


def above_any_guess() -> tuple[int, int]:
    """Printed attack figures on columns in [0, 1] above what the answer 0.5 can err by, and all of them."""
    values = [
        cell["mean"]
        for kind in ("grna", "gia")
        for strength in STRENGTHS
        for row in printed_tables()[f"{kind}_mse_strength_{strength}"].values()
        for cell in row.values()
    ]
    return sum(value > HALF for value in values), len(values)


def confident() -> dict[str, float]:
    """Mean residual of a confident ten-class model behind PRIVEE-U, as published and as released."""
    return {spec: confident_residual(_rank_noise(spec), 10) for spec in (PRIVEE_U, PRIVEE_U_AS_RELEASED)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleasedSchedule(RankNoise):
    """PRIVEE-U+ as the released code has it: rho falls from the leading class down, which no defense of ours may."""

    def rho_by_rank(self, n_classes: int) -> Array:
        """From the leading class to the last."""
        return np.linspace(*REVERSED_SCHEDULE, n_classes)


def as_released(name: str, rho: float = 0.1) -> RankNoise | None:
    """What a figure of the tables was behind: PRIVEE-U draws up to 3, PRIVEE-U+ up to 1; None without a defense."""
    if name == "none":
        return None
    return ReleasedSchedule() if name.startswith("privee-u+") else PriveeU(rho=rho, draw_range=3.0)


def _figures() -> Iterator[tuple[str, str, RankNoise | None, int, float]]:
    """Table, where, what it is behind, classes and printed value."""
    tables = printed_tables()
    classes = {name: int(row["classes"]) for name, row in tables["baseline_accuracy"].items()}
    for kind in ("grna", "gia"):
        for strength in STRENGTHS:
            name, title = f"{kind}_mse_strength_{strength}", f"{kind.upper()} {strength} %"
            for dataset, row in tables[name].items():
                for key in BEHIND:
                    yield title, f"{dataset}, {key}", as_released(key), classes[dataset], row[key]["mean"]
    yield from _on_mnist(tables, classes["mnist"])


def _on_mnist(tables: Mapping[str, Any], classes: int) -> Iterator[tuple[str, str, RankNoise | None, int, float]]:
    for key in ("privee-u(rho=0.1)", "privee-u+"):
        for clients, cell in tables[GIA_BY_CLIENTS][key].items():
            yield "GIA by clients", f"mnist, {clients} clients, {key}", as_released(key), classes, cell["after"]
    both = {"none": "mse_without", "privee-u": "mse_with"}
    for clients, cell in tables[BY_CLIENTS].items():
        for key, column in both.items():
            yield "GRNA by clients", f"mnist, {clients} clients, {key}", as_released(key), classes, cell[column]
    for rho, cell in tables[BY_RHO].items():
        for key, column in both.items():
            yield "GRNA by rho", f"mnist, rho {rho}, {key}", as_released(key, float(rho)), classes, cell[column]


def _bounds(behind: RankNoise | None, classes: int) -> dict[str, float]:
    if behind is None:
        return dict.fromkeys(("mean_bound", "bound"), largest_undefended(classes))
    return {
        "mean_bound": largest_residual(behind, classes, mean_over_draws=True),
        "bound": largest_residual(behind, classes),
    }


def _rank_noise(spec: str) -> RankNoise:
    made = defense(spec)
    if not isinstance(made, RankNoise):
        raise TypeError(f"{spec} has no intervals")
    return made


def largest_residual(defense: RankNoise, n_classes: int, *, mean_over_draws: bool = False) -> float:
    """The largest confidence residual of any scores, any attack and any draws, or of their mean over the draws.

    The residual is convex in c and s together, so it is largest at corners: c shares one among the first m classes
    of the ranking, s puts all on one class. In each factor it is convex as well: largest at an end of its interval.
    """
    return max(_at_corner(defense, n_classes, first, mean_over_draws) for first in range(1, n_classes + 1))


def largest_undefended(n_classes: int) -> float:
    """Without a defense: two probability vectors are at most sqrt(2) apart."""
    return 2.0 / n_classes


def confident_residual(defense: RankNoise, n_classes: int) -> float:
    """Its mean over draws where the model is sure of one class and the attack's columns give the same scores."""
    sure = np.eye(n_classes)[0]
    return float(_terms(defense, n_classes, sure, sure, mean_over_draws=True).mean())


def _at_corner(defense: RankNoise, n_classes: int, first: int, mean_over_draws: bool) -> float:
    scores = np.where(np.arange(n_classes) < first, 1.0 / first, 0.0)
    without, with_all = (
        _terms(defense, n_classes, scores, np.full(n_classes, guess), mean_over_draws=mean_over_draws)
        for guess in (0.0, 1.0)
    )
    return float((without.sum() + (with_all - without).max()) / n_classes)


def _terms(defense: RankNoise, n_classes: int, scores: Array, guess: Array, *, mean_over_draws: bool) -> Array:
    """(s_j - p_j)^2 by rank position: the largest over the interval of the draw, or the mean."""
    public = defense.intervals(n_classes)
    ends = [(guess + public.shift - scores * factor) for factor in (public.factor_low, public.factor_high)]
    if not mean_over_draws:
        return np.maximum(*(end**2 for end in ends))
    return np.asarray((ends[0] ** 2 + ends[0] * ends[1] + ends[1] ** 2) / 3)  # the mean square of a uniform variable
