"""What a leaderboard says over all its models, and who moves scores least at the same epsilon."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from privee.bench.board import Board
from privee.bench.plan import EPSILONS, UNPROTECTED
from privee.bench.rows import Row
from privee.errors import SettingError
from privee.registry import parse_settings

OURS = "ordered-dp"
CLOSE = 0.01
"""Epsilons that are found by search, not set, may be so far below what was asked for."""


class Spread(NamedTuple):
    """A figure over models: its median, and its worst."""

    median: float
    worst: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
    """One defense or protection over all models that it was measured on.

    Attributes:
        what: its spec.
        models: how many.
        complete: whether every model has all three ways of asking.
        older: whether some model was measured with other settings, or by another version.
        once, ten, chosen: what is left on average over columns; the worst is the least.
        column: what is left in the column told best, by the strongest of the three.
        least: on average over columns, by the strongest of the three; what lines are ordered by.
        l1_moved, calibration_error, microseconds: the worst is the most.
        ranking_kept, top_kept, distances, inner_products, correlations: the worst is the least.
        accuracy_lost, auc_lost: against the scores of the model without protection.
        epsilon: where one is proven.
        order_proven: None for protections: theirs is another model.
    """

    what: str
    models: int
    complete: bool
    older: bool
    once: Spread | None
    ten: Spread | None
    chosen: Spread | None
    column: Spread | None
    least: Spread | None
    l1_moved: Spread | None
    ranking_kept: Spread | None
    top_kept: Spread | None
    accuracy_lost: Spread | None
    auc_lost: Spread | None
    calibration_error: Spread | None
    microseconds: Spread | None
    distances: Spread | None
    inner_products: Spread | None
    correlations: Spread | None
    epsilon: float | None
    order_proven: bool | None


def lines_of(board: Board) -> list[Line]:
    """One for each defense and protection; first who leaves most to the strongest attacker, on the median model."""
    plain = {(row.dataset, row.model): row for row in board.usable if row.what == UNPROTECTED}
    names = dict.fromkeys(row.what for row in board.usable)
    lines = [_line(what, [row for row in board.usable if row.what == what], plain) for what in names]
    return sorted(lines, key=lambda line: -1.0 if line.least is None else line.least.median, reverse=True)


def _line(what: str, rows: Sequence[Row], plain: dict[tuple[str, str], Row]) -> Line:
    def worth(name: str, worst: Callable[[Iterable[float]], float]) -> Spread | None:
        return spread([row.worth.get(name) for row in rows], worst)

    def kept(name: str) -> Spread | None:
        return spread([row.worth.get("structure", {}).get(name) for row in rows], min)

    def lost(name: str) -> Spread | None:
        return spread([_lost(row, plain.get((row.dataset, row.model)), name) for row in rows], max)

    return Line(
        what=what,
        models=len(rows),
        complete=all(row.least is not None and not row.missing for row in rows),
        older=any(row.older for row in rows),
        once=spread([None if row.once is None else row.once.mean for row in rows], min),
        ten=spread([None if row.ten is None else row.ten.mean for row in rows], min),
        chosen=spread([None if row.chosen is None else row.chosen.mean for row in rows], min),
        column=spread([_worst_column(row) for row in rows], min),
        least=spread([row.least for row in rows], min),
        l1_moved=worth("l1_moved", max),
        ranking_kept=worth("ranking_kept", min),
        top_kept=worth("top_kept", min),
        accuracy_lost=lost("accuracy"),
        auc_lost=lost("auc"),
        calibration_error=worth("calibration_error", max),
        microseconds=worth("microseconds", max),
        distances=kept("distances"),
        inner_products=kept("inner_products"),
        correlations=kept("correlations"),
        epsilon=rows[0].worth.get("epsilon"),
        order_proven=rows[0].worth.get("order_proven"),
    )


def spread(values: Iterable[float | None], worst: Callable[[Iterable[float]], float]) -> Spread | None:
    """Of those that are there; None if none is."""
    found = [value for value in values if value is not None]
    return Spread(float(np.median(found)), float(worst(found))) if found else None


def _worst_column(row: Row) -> float | None:
    """Only where all three ways of asking are there."""
    found = [left.worst for left in (row.once, row.ten, row.chosen) if left is not None]
    return min(found) if len(found) == 3 else None


def _lost(row: Row, plain: Row | None, name: str) -> float | None:
    mine, theirs = row.worth.get(name), None if plain is None else plain.worth.get(name)
    return None if mine is None or theirs is None else theirs - mine


@dataclasses.dataclass(frozen=True, kw_only=True)
class Match:
    """Defenses with the same epsilon on one model: how far each moves scores.

    Attributes:
        epsilon: of all of them, for a whole score vector.
        dataset, model: where.
        moved: mean L1 by defense.
        proven: the epsilon that each proves, and over which score vectors.
    """

    epsilon: float
    dataset: str
    model: str
    moved: dict[str, float]
    proven: dict[str, tuple[float | None, str]]


def matches_of(board: Board) -> list[Match]:
    """Every epsilon and model on which ours and at least one other were measured.

    Epsilons are those that are proven, for whole score vectors; of several settings that have the same one, the one
    that moves scores least stands for its defense.
    """
    found = []
    plain = [row for row in board.usable if not row.protection and "l1_moved" in row.worth]
    for epsilon in EPSILONS:
        for dataset, model in dict.fromkeys((row.dataset, row.model) for row in plain):
            alike = [row for row in plain if (row.dataset, row.model) == (dataset, model) and _has(row, epsilon)]
            by_moved = sorted(alike, key=lambda row: row.worth["l1_moved"], reverse=True)
            here = {row.defense.partition(":")[0]: row for row in by_moved}  # the last, which moves least, stays
            if OURS in here and len(here) > 1:
                moved = {name: row.worth["l1_moved"] for name, row in here.items()}
                proven = {name: (row.worth["epsilon"], row.worth["same"]) for name, row in here.items()}
                found.append(Match(epsilon=epsilon, dataset=dataset, model=model, moved=moved, proven=proven))
    return found


def _has(row: Row, epsilon: float) -> bool:
    """Whether this epsilon is proven; where none is, whether it is what was set."""
    proven = row.worth["epsilon"]
    mine = epsilon_of(row.defense) if proven is None else proven
    return mine is not None and math.isclose(mine, epsilon, rel_tol=CLOSE)


def epsilon_of(spec: str) -> float | None:
    """The epsilon of a spec that sets nothing else."""
    try:
        given = parse_settings(spec.partition(":")[2])
    except SettingError:
        return None
    value = given.get("epsilon")
    return float(value) if len(given) == 1 and isinstance(value, int | float) else None
