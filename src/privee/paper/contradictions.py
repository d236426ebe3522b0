"""Printed figures that do not fit together, computed from the printed tables and from what was measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from privee.defenses import defense
from privee.defenses.rank_noise import RankNoise
from privee.paper.agreement import compared_figures, count_met
from privee.paper.defenses import PRIVEE_U, PRIVEE_U_AS_RELEASED, PRIVEE_U_PLUS_AS_RELEASED, privee_u
from privee.paper.printed import printed, printed_tables
from privee.paper.residual_bound import confident_residual, largest_residual, largest_undefended
from privee.paper.results import Outcome

STRENGTHS = (25, 50, 75)
BY_RHO, BY_CLIENTS = "grna_mnist_privee_u_by_rho_25_clients", "grna_mnist_privee_u_by_clients_rho_0.1"
GIA_BY_CLIENTS = "gia_mse_mnist_strength_50_by_clients"
HALF = 0.25
"""A column in [0, 1] that is answered with 0.5 errs by at most 0.25 (squared)."""


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
    """All printed attack figures undefended and behind PRIVEE, with draws as they explain the tables (up to 3)."""
    return [
        PrintedFigure(table=table, where=where, value=value, **_bounds(spec, classes))
        for table, where, spec, classes, value in _figures()
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


def _figures() -> Iterator[tuple[str, str, str, int, float]]:
    """Table, where, spec, classes and printed value."""
    tables = printed_tables()
    classes = {name: int(row["classes"]) for name, row in tables["baseline_accuracy"].items()}
    specs = {"none": "none", "privee-u": PRIVEE_U_AS_RELEASED, "privee-u+": PRIVEE_U_PLUS_AS_RELEASED}
    for kind in ("grna", "gia"):
        for strength in STRENGTHS:
            name = f"{kind}_mse_strength_{strength}"
            for dataset, row in tables[name].items():
                for key, spec in specs.items():
                    yield f"{kind.upper()} {strength} %", f"{dataset}, {key}", spec, classes[dataset], row[key]["mean"]
    yield from _on_mnist(tables, classes["mnist"])


def _on_mnist(tables: Mapping[str, Any], classes: int) -> Iterator[tuple[str, str, str, int, float]]:
    named = {"privee-u(rho=0.1)": PRIVEE_U_AS_RELEASED, "privee-u+": PRIVEE_U_PLUS_AS_RELEASED}
    for key, spec in named.items():
        for clients, cell in tables[GIA_BY_CLIENTS][key].items():
            yield "GIA by clients", f"mnist, {clients} clients, {key}", spec, classes, cell["after"]
    for clients, cell in tables[BY_CLIENTS].items():
        yield "GRNA by clients", f"mnist, {clients} clients, none", "none", classes, cell["mse_without"]
        yield "GRNA by clients", f"mnist, {clients} clients, privee-u", PRIVEE_U_AS_RELEASED, classes, cell["mse_with"]
    for rho, cell in tables[BY_RHO].items():
        spec = privee_u(float(rho), as_released=True)
        yield "GRNA by rho", f"mnist, rho {rho}, none", "none", classes, cell["mse_without"]
        yield "GRNA by rho", f"mnist, rho {rho}, privee-u", spec, classes, cell["mse_with"]


def _bounds(spec: str, classes: int) -> dict[str, float]:
    if spec == "none":
        return dict.fromkeys(("mean_bound", "bound"), largest_undefended(classes))
    made = _rank_noise(spec)
    return {
        "mean_bound": largest_residual(made, classes, mean_over_draws=True),
        "bound": largest_residual(made, classes),
    }


def _rank_noise(spec: str) -> RankNoise:
    made = defense(spec)
    if not isinstance(made, RankNoise):
        raise TypeError(f"{spec} has no intervals")
    return made
