"""The centre of the largest ball that fits where columns can be: in [0, 1], between planes, and on others.

One linear program for each record, all solved at once by an interior-point method. The ball's radius may be negative:
then nothing fits, and the centre is where the largest violation is smallest. Where several balls are equally large the
method ends in the middle of their centres, not at a corner.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

ROUNDS, SHRINK, REACH = 80, 0.15, 0.99
DONE = 1e-9
FLATTEST = 1e-2
"""Faces that a ball on the planes hardly touches still count so much: else one of them can leave nothing possible."""


@dataclasses.dataclass(frozen=True, eq=False)
class Place:
    """Where the columns of n records can be.

    Attributes:
        directions: (n, slabs, columns), of `low <= directions @ x <= high`.
        low, high: (n, slabs); infinite where there is no such side.
        fixed: rows (planes, columns), orthonormal, of `fixed @ x = values`; the same for all records.
        values: (n, planes).
    """

    directions: Tensor
    low: Tensor
    high: Tensor
    fixed: Tensor
    values: Tensor


def on_planes(fixed: Tensor, values: Tensor) -> Place:
    """Exact equations alone."""
    none = values.new_zeros(len(values), 0)
    return Place(none[..., None].expand(-1, -1, fixed.shape[1]), none, none, fixed, values)


def in_slabs(directions: Tensor, low: Tensor, high: Tensor) -> Place:
    """Inequalities alone; a side that is missing is put where the box ends anyway."""
    reach = directions.abs().sum(dim=2) + 1.0
    nothing = low.new_zeros(len(low), 0)
    low, high = torch.where(low.isinf(), -reach, low), torch.where(high.isinf(), reach, high)
    return Place(directions, low, high, low.new_zeros(0, directions.shape[2]), nothing)


def largest_ball(place: Place) -> tuple[Tensor, Tensor]:
    """Centres (n, columns) and radii (n) of the largest balls.

    Example:
        >>> flat = torch.full((1, 2), 2**-0.5, dtype=torch.float64)  # x + y = 1/2: from (1/2, 0) to (0, 1/2)
        >>> centre, radius = largest_ball(on_planes(flat, torch.tensor([[0.5 * 2**-0.5]], dtype=torch.float64)))
        >>> [round(value, 3) for value in (*centre[0].tolist(), radius.item())]
        [0.25, 0.25, 0.354]
    """
    n, width = len(place.low), place.directions.shape[2]
    start = torch.full((n, width), 0.5, dtype=place.low.dtype)
    start = start + (place.values - start @ place.fixed.T) @ place.fixed
    faces = (1 - place.fixed.square().sum(dim=0)).clamp_min(0.0).sqrt().clamp_min(FLATTEST)
    sides = place.directions.norm(dim=2)
    if len(place.fixed) == width:  # one point is left
        return start, torch.zeros_like(place.low[:, :0].sum(dim=1))
    program = _Program(place, torch.cat([faces.expand(n, -1), faces.expand(n, -1), sides, sides], dim=1))
    radius = (program.room(start) / program.weights.clamp_min(1e-12)).amin(dim=1) - 0.5
    return program.solved(start, radius)


class _Program:
    """Maximise t so that all rooms are at least `weights * t`: primal and dual steps towards the central path."""

    def __init__(self, place: Place, weights: Tensor) -> None:
        self.weights = weights
        self._place, (self._n, self._m), self._d = place, place.low.shape, place.directions.shape[2]

    def room(self, x: Tensor) -> Tensor:
        """To every face and side: columns' lower and upper ends, then slabs' lower and upper sides."""
        along = (self._place.directions @ x[..., None])[..., 0]
        return torch.cat([x, 1 - x, along - self._place.low, self._place.high - along], dim=1)

    def solved(self, x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        """From a point with room on all sides."""
        room = self.room(x) - self.weights * t[:, None]
        dual = 1 / (room * self.weights.sum(dim=1, keepdim=True))
        level = x.new_zeros(self._n, len(self._place.fixed))
        for _ in range(ROUNDS):
            gap = (room * dual).mean(dim=1, keepdim=True)
            open_ = gap > DONE
            if not open_.any():
                break
            dx, dt, dy = self._step(room, dual, level, SHRINK * gap)
            droom = self._change(dx) - self.weights * dt
            ddual = (SHRINK * gap - room * dual - dual * droom) / room
            sound = open_ & torch.isfinite(dx).all(dim=1, keepdim=True)
            far, far_dual = (torch.where(sound, _reach(*pair), 0.0) for pair in ((room, droom), (dual, ddual)))
            # A smaller ball has room everywhere, so nothing else would hold a step that lost its digits.
            far = torch.where(dt < 0, torch.minimum(far, (1 + t[:, None].abs()) / dt.abs().clamp_min(1e-300)), far)
            moves = ((x, far, dx), (room, far, droom), (dual, far_dual, ddual), (level, far_dual, dy))
            x, room, dual, level = (torch.where(sound, value + step * move, value) for value, step, move in moves)
            t = torch.where(sound[:, 0], t + (far * dt)[:, 0], t)
        return x, t

    def _change(self, dx: Tensor) -> Tensor:
        along = (self._place.directions @ dx[..., None])[..., 0]
        return torch.cat([dx, -dx, along, -along], dim=1)

    def _gathered(self, values: Tensor) -> Tensor:
        """What sides say of columns: the transpose of `_change`."""
        d, m = self._d, self._m
        low, high, left, right = values.split([d, d, m, m], dim=1)
        return low - high + ((left - right)[:, None] @ self._place.directions)[:, 0]

    def _step(self, room: Tensor, dual: Tensor, level: Tensor, aim: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Newton's, for the sums that duals must have and for the gap that is aimed at.

        Faces of the box touch one column each, so among planes columns and radius are eliminated, and what is left to
        solve has a row for each plane. Among slabs that would lose too many digits, and the whole system is solved.
        """
        d, stiff, pull = self._d, dual / room, aim / room
        box = _Box(stiff[:, :d], stiff[:, d : 2 * d], self.weights[:, :d])
        wanted = torch.cat(
            [
                self._gathered(pull) - level @ self._place.fixed,
                1 - (self.weights * pull).sum(dim=1, keepdim=True),
            ],
            dim=1,
        )
        rows, sides = self._rows(), stiff[:, 2 * d :]
        if not len(self._place.fixed):
            found = torch.linalg.solve_ex(box.matrix() + (rows * sides[..., None]).mT @ rows, wanted)[0]
            return found[:, :d], found[:, d:], level
        solved = box.solve(torch.cat([rows.mT, wanted[..., None]], dim=2))
        left = rows @ solved
        pressed = torch.linalg.solve_ex(left[..., :-1], left[..., -1:])[0]
        found = (solved[..., -1:] - solved[..., :-1] @ pressed)[..., 0]
        return found[:, :d], found[:, d:], pressed[..., 0]

    def _rows(self) -> Tensor:
        """Of slabs' lower and upper sides, or of planes: how they depend on columns and on the radius."""
        d, directions = self._d, self._place.directions
        sides = torch.cat([directions, -directions], dim=1)
        slabs = torch.cat([sides, -self.weights[:, 2 * d :, None]], dim=2)
        planes = torch.cat([self._place.fixed, self._place.fixed.new_zeros(len(self._place.fixed), 1)], dim=1)
        return torch.cat([slabs, planes.expand(self._n, -1, -1)], dim=1)


class _Box:
    """What faces of the box make of columns and radius: an arrow, whose inverse is known.

    Args:
        low, high: stiffness of the faces at 0 and at 1, (n, columns).
        weights: how far a ball of radius 1 reaches towards them.
    """

    def __init__(self, low: Tensor, high: Tensor, weights: Tensor) -> None:
        self._stiff = (low + high)[..., None]
        self._tilt = (weights * (high - low))[..., None]
        self._left = (4 * weights.square() * low * high / (low + high)).sum(dim=1)[:, None, None]
        self._outward = (weights.square() * (low + high)).sum(dim=1)

    def matrix(self) -> Tensor:
        """All of it, (n, columns + 1, columns + 1)."""
        found = torch.diag_embed(torch.cat([self._stiff[..., 0], self._outward[:, None]], dim=1))
        found[:, :-1, -1] = found[:, -1, :-1] = self._tilt[..., 0]
        return found

    def solve(self, wanted: Tensor) -> Tensor:
        """For several right sides, (n, columns + 1, sides)."""
        along, outward = wanted[:, :-1], wanted[:, -1:]
        radius = (outward - (self._tilt / self._stiff * along).sum(dim=1, keepdim=True)) / self._left
        return torch.cat([(along - self._tilt * radius) / self._stiff, radius], dim=1)


def _reach(values: Tensor, moves: Tensor) -> Tensor:
    """How far to go, (n, 1), so that no value becomes negative."""
    limit = torch.where(moves < 0, -values / moves.clamp_max(-1e-300), torch.inf).amin(dim=1, keepdim=True)
    return (REACH * limit).clamp_max(1.0)
