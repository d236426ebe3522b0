"""Chebyshev centre: of all columns that the equations and the box [0, 1] leave, the centre of the largest ball.

Behind a defense that the attacker knows, an equation is worth what its own copy of the defense shows: gaps between
neighbours in the released order lie in an interval, and above 0 if the release proves an order.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.chosen.answers import pairs_of
from privee.attacks.descent import in_turn
from privee.attacks.equation_solving import RASSOULI, equations_of
from privee.attacks.largest_ball import Place, in_slabs, largest_ball, on_planes
from privee.attacks.log_scores import SMALLEST
from privee.attacks.registry import register
from privee.attacks.view import AttackerView, Seen
from privee.attacks.watch import Watch
from privee.errors import SettingError

EXACT = 1e-6
"""Gaps that are known so well are equations."""
SIMULATED = 512
AT_ONCE = 1 << 22
"""Numbers that are held of the linear systems at once."""


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class ChebyshevCentre(Attack):
    """As far as possible from everything that is ruled out; needs no auxiliary rows.

    Args:
        sure: share of simulated errors that an interval holds, where the defense is known and leaves any.
    """

    name: ClassVar[str] = "chebyshev-centre"
    place: ClassVar[int] = 12
    slow: ClassVar[bool] = True
    benched: ClassVar[tuple[str, ...]] = ("chebyshev-centre",)
    summary: ClassVar[str] = "centre of the largest ball that a logistic model's equations leave of [0, 1]"
    needs: ClassVar[Needs] = Needs(linear_model=True)
    adapts: ClassVar[str] = "equations become intervals, as wide as its own copy of the defense shows, and order cuts"
    published: ClassVar[str] = f"{RASSOULI} (undefended; intervals and order cuts are this project's)"

    sure: float = 0.95

    def __post_init__(self) -> None:
        if isinstance(self.sure, bool) or not 0 < self.sure < 1:
            raise SettingError(f"sure must lie between 0 and 1, both excluded; got {self.sure!r}")

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        place = self._place(view)
        size = (view.model.unknown_columns + 1) * (view.model.unknown_columns + 2 * view.model.n_classes)
        parts = in_turn(view.rows, max(1, AT_ONCE // size))
        found = torch.zeros(view.rows, view.model.unknown_columns, dtype=view.own.dtype)
        for step in watch.steps("records", len(parts), {"found": found}):
            centre, _ = largest_ball(_part(place, parts[step]))
            found[parts[step]] = centre.clamp(0.0, 1.0)
        return found

    def _place(self, view: AttackerView) -> Place:
        errors = _errors(view) if view.adaptive else None
        if errors is None or float(errors.abs().max()) <= EXACT:
            return _planes(view)
        ends = torch.tensor([(1 - self.sure) / 2, (1 + self.sure) / 2], dtype=errors.dtype)
        low, high = torch.quantile(errors, ends, dim=0)
        seen, zeros = view.seen, torch.zeros(view.rows, view.model.unknown_columns, dtype=view.own.dtype)
        above, below, shown = _pairs(view, seen)
        read = _gaps(seen.read.clamp_min(SMALLEST).log(), above, below)
        with torch.no_grad():
            without = _gaps(view.model.logits(view.own, zeros), above, below)
        low, high = read + low, read + high
        low = torch.where(shown, low.clamp_min(0.0), low)
        slopes = _slopes(view)
        return in_slabs(slopes[above] - slopes[below], low - without, high - without)


def _slopes(view: AttackerView) -> Tensor:
    assert view.model.linear is not None  # noqa: S101 (why_not has checked)
    return view.model.linear.to(view.own.dtype)


def _planes(view: AttackerView) -> Place:
    """The equations with orthonormal left sides; what they contradict each other in is left out."""
    slopes, values = equations_of(view)
    columns, sizes, classes = torch.linalg.svd(slopes.to(values.dtype), full_matrices=False)
    kept = sizes > 1e-9 * sizes.max()
    return on_planes(columns.T[kept], values @ classes[kept].T / sizes[kept])


def _pairs(view: AttackerView, seen: Seen) -> tuple[Tensor, Tensor, Tensor]:
    """Neighbours in the released order (in that of what was read, where it proves nothing), and which are proven."""
    return pairs_of(seen.release if view.defense.monotone else seen.read, view.defense.monotone)


def _gaps(logits: Tensor, above: Tensor, below: Tensor) -> Tensor:
    return logits.gather(1, above) - logits.gather(1, below)


def _errors(view: AttackerView) -> Tensor:
    """True gaps minus what is read of them by rank position, (rows, classes - 1), of rows that the attacker made up.

    Auxiliary rows if there are any, else own columns of the records with anything in [0, 1].
    """
    with torch.no_grad():
        if view.auxiliary is not None:
            logits = view.model.logits(view.auxiliary.own, view.auxiliary.unknown)
        else:
            own = view.own[torch.arange(SIMULATED) % view.rows]
            logits = view.model.logits(own, torch.rand(SIMULATED, view.model.unknown_columns, dtype=own.dtype))
    seen = view.simulate(torch.softmax(logits, dim=1), 0)
    above, below, _ = _pairs(view, seen)
    return _gaps(logits - seen.read.clamp_min(SMALLEST).log(), above, below)


def _part(place: Place, rows: slice) -> Place:
    return Place(place.directions[rows], place.low[rows], place.high[rows], place.fixed, place.values[rows])
