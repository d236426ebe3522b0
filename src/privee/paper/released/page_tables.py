"""Which printed figures the page's own tables meet: measured as published, on other models than the re-enacted ones."""

from __future__ import annotations

from collections.abc import Mapping

from privee.paper.measure.agreement import compared_figures
from privee.paper.measure.contradictions import beyond_reach
from privee.paper.outcomes import Outcome, Row
from privee.paper.printed import AS_RELEASED
from privee.paper.released.attribution import near
from privee.paper.released.scenes import Figure, figures

Place = tuple[str, str, str, float]
InTables = Mapping[Figure, tuple[float, ...]]
WITH_SETTING = ("rounding", "gaussian")
BOUNDED = ("none", "privee-u", "privee-u+")
"""Where a residual has a largest value."""


def in_tables(outcomes: Mapping[str, Outcome]) -> dict[Figure, tuple[float, ...]]:
    """Our confidence residuals in the tables named as the figures'; PRIVEE has two, with draws to 1 and to 3."""
    found = {
        _place(name, rows[0]): tuple(
            row.measured["confidence_residual"].value for row in rows if "confidence_residual" in row.measured
        )
        for name, outcome in outcomes.items()
        for rows in compared_figures(outcome.rows).values()
    }
    return {figure: found[_of(figure)] for figure in figures() if _of(figure) in found}


def met_in_tables(tables: InTables) -> set[Figure]:
    """Figures within 15 % of our residual, PRIVEE's of one or the other."""
    return {figure for figure, ours in tables.items() if any(near(value, figure.printed) for value in ours)}


def out_of_reach() -> set[Figure]:
    """Figures larger than any confidence residual of the classes and the defense that they name."""
    found = {(figure.where.split(",")[0], round(figure.value, 9)) for figure in beyond_reach()}
    return {
        figure
        for figure in figures()
        if figure.defense in BOUNDED and (figure.scene.dataset, round(figure.printed, 9)) in found
    }


def _place(table: str, row: Row) -> Place:
    """A printed figure by its table, dataset, defense and value: no two agree in all."""
    value = row.printed["confidence_residual"].value
    return table, str(row.where["dataset"]), _defense(str(row.where["defense"])), round(value, 9)


def _of(figure: Figure) -> Place:
    name, _, setting = figure.defense.rpartition("-")
    defense = f"{name}-{float(setting):g}" if name in WITH_SETTING else figure.defense
    return figure.table, figure.scene.dataset, defense, round(figure.printed, 9)


def _defense(spec: str) -> str:
    """As the paper's tables have it: rounding and Gaussian noise with their setting."""
    kind, _, setting = spec.replace(AS_RELEASED, "").partition(":")
    if kind in WITH_SETTING:
        return f"{kind}-{float(setting.partition('=')[2]):g}"
    return "ope" if kind == "fh-ope" else kind
