"""Attack results along one quantity: two pictures, what the paper prints and what an attacker gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from privee.paper.attack_rows import AttackResult
from privee.paper.plots import Panel, Points, draw
from privee.paper.results import Outcome, Row, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Sweep(AttackResult):
    """Rows along one quantity; a defense without it is a level line."""

    along: ClassVar[str]
    log: ClassVar[bool] = False
    inversion_effort = (64, 3)

    def place_of(self, row: Row) -> float | None:
        """Where on the axis a row stands; None if it does not depend on the quantity."""
        return float(row.where[self.along])

    def line_of(self, row: Row) -> str | None:
        """Which line a row belongs to; None if it is not shown."""
        return str(row.where["defense"])

    def figure(self, outcome: Outcome) -> Figure | None:
        naive, adaptive = ([r for r in outcome.rows if r.where["attacker"] == who] for who in ("naive", "adaptive"))
        dashed = self._lines(naive, "confidence_residual", "printed")
        log = (self.log, True)
        return draw(
            Panel(
                title="Confidence residual, naive attacker",
                measured=self._lines(naive, "confidence_residual"),
                printed={f"{name}, printed": points for name, points in dashed.items()},
                x=self.along,
                log=log,
            ),
            Panel(
                title="Feature error over a guess's, adaptive attacker",
                measured=self._lines(adaptive, "guess_normalised"),
                x=self.along,
                log=log,
            ),
        )

    def _lines(self, rows: Sequence[Row], figure: str, side: str = "measured") -> dict[str, Points]:
        every = sorted({place for row in rows if (place := self.place_of(row)) is not None})
        found: dict[str, list[tuple[float, Value]]] = {}
        for row in rows:
            name, value, place = self.line_of(row), getattr(row, side).get(figure), self.place_of(row)
            if name is not None and value is not None:
                found.setdefault(name, []).extend((at, value) for at in (every if place is None else [place]))
        return {name: sorted(points, key=lambda point: point[0]) for name, points in found.items()}
