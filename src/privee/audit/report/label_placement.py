"""Where to write the labels of points so that none covers another, a point, or the frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class LabelledPoint(NamedTuple):
    """A place, in points of the chart."""

    x: float
    y: float


class Box(NamedTuple):
    """An upright rectangle."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: Box) -> bool:
        """Do they share any area?"""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.top <= other.bottom or other.top <= self.bottom)

    def within(self, other: Box) -> bool:
        """Does it lie inside?"""
        sides = self.left >= other.left and self.right <= other.right
        return sides and self.bottom >= other.bottom and self.top <= other.top

    def nearest(self, point: LabelledPoint) -> LabelledPoint:
        """The place in the box that is nearest to a point."""
        return LabelledPoint(min(max(point.x, self.left), self.right), min(max(point.y, self.bottom), self.top))

    @classmethod
    def around(cls, centre: LabelledPoint, width: float, height: float) -> Box:
        """A box by its centre and size."""
        return cls(centre.x - width / 2, centre.y - height / 2, centre.x + width / 2, centre.y + height / 2)


# Right, left, above, below, then the corners and what lies between them.
DIRECTIONS = (0, 8, 4, 12, 2, 14, 6, 10, 1, 15, 7, 9, 3, 13, 5, 11)


def place_labels(
    points: Sequence[LabelledPoint],
    sizes: Sequence[tuple[float, float]],
    frame: Box,
    obstacles: Iterable[Box] = (),
    *,
    marker: float,
    furthest: float,
    lines_may_cross: bool = False,
) -> list[Box] | None:
    """A free box for every label, as near to its point as can be; None if one would be further away than allowed.

    Args:
        points: what is labelled.
        sizes: width and height of each label.
        frame: labels stay inside.
        obstacles: what labels must not cover, besides the points.
        marker: width of a point's marker.
        furthest: largest distance from marker to label.
        lines_may_cross: let lines to far labels run through other labels, if there is no other way.
    """
    taken = [*obstacles, *(Box.around(point, marker, marker) for point in points)]
    leaders: list[Box] = []
    placed: list[Box] = []
    for point, size in zip(points, sizes, strict=True):
        for box in _candidates(point, size, marker / 2, furthest):
            leader = [] if lines_may_cross else _leader(point, box, marker)
            free = box.within(frame) and not any(box.overlaps(other) for other in (*taken, *leaders))
            if free and not any(part.overlaps(other) for part in leader for other in placed):
                break
        else:
            return None
        placed.append(box)
        taken.append(box)
        leaders += leader
    return placed


def _candidates(point: LabelledPoint, size: tuple[float, float], reach: float, furthest: float) -> Iterator[Box]:
    """Boxes around a point, from near to far, the most readable sides first."""
    width, height = size
    distance = 2.0
    while distance <= furthest:
        for step in DIRECTIONS:
            x, y = math.cos(step * math.pi / 8), math.sin(step * math.pi / 8)
            away = reach + distance
            centre = LabelledPoint(point.x + x * (away + width / 2), point.y + y * (away + height / 2))
            yield Box.around(centre, width, height)
        distance += 5.0


def _leader(point: LabelledPoint, box: Box, marker: float) -> list[Box]:
    """Small boxes along the line from a point to its label, where that is far enough to need one."""
    end = box.nearest(point)
    length = math.dist(point, end)
    if not needs_leader(point, box, marker):
        return []
    steps = max(2, int(length / 2))
    ratios = [k / steps for k in range(steps + 1) if k / steps * length > marker / 2]
    places = (LabelledPoint(point.x + r * (end.x - point.x), point.y + r * (end.y - point.y)) for r in ratios[:-1])
    return [Box.around(place, 1.0, 1.0) for place in places]


def needs_leader(point: LabelledPoint, box: Box, marker: float) -> bool:
    """Is the label so far away that a line must say whose it is?"""
    return math.dist(point, box.nearest(point)) > marker / 2 + 5
