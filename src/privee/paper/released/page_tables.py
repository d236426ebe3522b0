"""Which printed figures the page's own tables meet: measured as published, on other models than the re-enacted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privee.paper.measure.agreement import compared_figures
from privee.paper.measure.contradictions import beyond_reach
from privee.paper.outcomes import Outcome, Row
from privee.paper.printed import AS_RELEASED
from privee.paper.released.attribution import near, without
from privee.paper.released.kept_rows import attributed
from privee.paper.released.parts import CONJECTURES
from privee.paper.released.scenes import Figure, figures

Place = tuple[str, str, str, float]
BOUNDED = ("none", "privee-u", "privee-u+")
"""Where a residual has a largest value."""


def met_in_tables(outcomes: Mapping[str, Outcome]) -> set[Figure]:
    """Figures within 15 % of our confidence residual in the tables named as theirs; PRIVEE with draws to 1 or to 3."""
    found = {
        _place(name, rows[0])
        for name, outcome in outcomes.items()
        for rows in compared_figures(outcome.rows).values()
        if any(_near(row) for row in rows)
    }
    return {figure for figure in figures() if _of(figure) in found}


def met_by_parts(rows: Sequence[Row]) -> set[Figure]:
    """Figures within 15 % of some combination of parts that were read in the code, from rows of `as-released`."""
    return {one.figure for one in attributed(rows) if without(one, CONJECTURES).met}


def out_of_reach() -> set[Figure]:
    """Figures larger than any confidence residual of the classes and the defense that they name."""
    found = {(figure.where.split(",")[0], round(figure.value, 9)) for figure in beyond_reach()}
    return {
        figure
        for figure in figures()
        if figure.defense in BOUNDED and (figure.scene.dataset, round(figure.printed, 9)) in found
    }


def _near(row: Row) -> bool:
    ours = row.measured.get("confidence_residual")
    return ours is not None and near(ours.value, row.printed["confidence_residual"].value)


def _place(table: str, row: Row) -> Place:
    """A printed figure by its table, dataset, kind of defense and value; the tables have no two that agree in all."""
    kind = str(row.where["defense"]).replace(AS_RELEASED, "").split(":")[0]
    return table, str(row.where["dataset"]), kind, round(row.printed["confidence_residual"].value, 9)


def _of(figure: Figure) -> Place:
    kind = figure.defense if figure.defense.startswith("privee") else figure.defense.split("-")[0]
    return figure.table, figure.scene.dataset, "fh-ope" if kind == "ope" else kind, round(figure.printed, 9)
