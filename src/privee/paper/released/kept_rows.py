"""Printed figures and what was tried for them, to rows that are kept and back."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from privee.paper.outcomes import Row, Value
from privee.paper.released.attribution import Attributed, attribute
from privee.paper.released.parts import PARTS, Chosen
from privee.paper.released.scenes import Figure, figures


def attributed(rows: Sequence[Row]) -> list[Attributed]:
    """Printed figures with what was tried, from rows as they are kept."""
    known = {_key(where_of(figure)): figure for figure in figures()}
    return [
        attribute(figure, _tried(figure, row))
        for row in rows
        if row.printed and (figure := known.get(_key(row.where))) is not None
    ]


def _tried(figure: Figure, row: Row) -> dict[Chosen, Value]:
    """Of what was measured, the combinations that the figure is compared with; older rows hold others besides."""
    found = {_parts(name): value for name, value in row.measured.items()}
    return {parts: found[parts] for parts in figure.combinations if parts in found}


def where_of(figure: Figure) -> dict[str, Any]:
    """Where a figure stands, as a row says it."""
    scene = dataclasses.asdict(figure.scene)
    return {"table": figure.table, **scene, "defense": figure.defense, "rho": figure.rho}


def standing(row: Row) -> int:
    """Which of the printed figures a row is of: in this order they stand."""
    return _places().get(_key(row.where), 0)


@functools.cache
def _places() -> dict[tuple[Any, ...], int]:
    return {_key(where_of(figure)): place for place, figure in enumerate(figures())}


def _key(where: Any) -> tuple[Any, ...]:
    return tuple(where.items())


def _parts(name: str) -> Chosen:
    return frozenset(part for part in name.split(" + ") if part in PARTS)
