"""Which parts bring a printed figure within reach, and how many figures would be met by chance.

With several combinations per figure some are met by accident. So every count stands beside the count for printed
values that were shuffled among figures of one kind, and beside that of single combinations, where nothing was chosen.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

from privee.paper.measure.agreement import CLOSE
from privee.paper.outcomes import Value
from privee.paper.released.parts import Chosen, subsets
from privee.paper.released.scenes import Figure

Besides = Mapping[Figure, Sequence[float]]
NOTHING: Besides = {}
ROOM = 1e-9
"""For rounding, at the edge of what counts as near."""


@dataclasses.dataclass(frozen=True, eq=False)
class Attributed:
    """A printed figure beside every combination that was tried.

    Attributes:
        tried: our figure by combination.
        met: those within 15 % of what is printed, fewest parts first, then the nearest.
        nearest: whichever is nearest, met or not.
    """

    figure: Figure
    tried: Mapping[Chosen, Value]
    met: tuple[Chosen, ...]
    nearest: Chosen | None


def near(ours: float, theirs: float) -> bool:
    """Within 15 % of what is printed."""
    return abs(ours - theirs) <= CLOSE * abs(theirs) + ROOM


def attribute(figure: Figure, tried: Mapping[Chosen, Value]) -> Attributed:
    """Look for combinations that meet a figure."""

    def distance(parts: Chosen) -> float:
        return abs(tried[parts].value - figure.printed)

    met = sorted(
        (parts for parts in tried if near(tried[parts].value, figure.printed)),
        key=lambda parts: (len(parts), distance(parts)),
    )
    return Attributed(figure, tried, tuple(met), min(tried, key=distance, default=None))


def without(one: Attributed, parts: Chosen) -> Attributed:
    """The same with combinations alone that have none of these parts."""
    return attribute(one.figure, {some: value for some, value in one.tried.items() if not some & parts})


def count_met(found: Iterable[Attributed]) -> int:
    """Figures met by some combination."""
    return sum(bool(one.met) for one in found)


def met_by_chance(found: Sequence[Attributed], besides: Besides = NOTHING) -> float:
    """How many figures some combination would meet if printed values were shuffled among figures of their kind.

    The exact mean over all shuffles. A kind is an attack and a defense: its figures are of one size, so this is a
    strict yardstick. What exceeds it is what parts say of single rows, not that Gaussian noise exceeds rounding.

    Args:
        found: figures with what was tried.
        besides: what else each may be met by, such as our residuals in the tables of the page.
    """
    groups: dict[tuple[str, str], list[Attributed]] = {}
    for one in found:
        groups.setdefault(one.figure.kind, []).append(one)
    return sum(_pairs_met(group, besides) / len(group) for group in groups.values())


def _pairs_met(group: Sequence[Attributed], besides: Besides) -> int:
    """Pairs of what a row is met by and any row's printed value that are near: each pair is as likely as any other."""
    ours = [[*(value.value for value in one.tried.values()), *besides.get(one.figure, ())] for one in group]
    return sum(any(near(value, other.figure.printed) for value in values) for values in ours for other in group)


def single(found: Sequence[Attributed], parts: Chosen) -> int:
    """Figures met with exactly this combination on, of whose parts each figure takes those that can touch it."""
    return sum(touching(one.figure, parts) in one.met for one in found)


def tried_with(found: Sequence[Attributed], parts: Chosen) -> int:
    """Figures that were played with exactly this combination on; where none was left out, all of them."""
    return sum(touching(one.figure, parts) in one.tried for one in found)


def touching(figure: Figure, parts: Chosen) -> Chosen:
    """Those of the parts that can touch a figure."""
    return parts & able(figure)


@functools.cache
def able(figure: Figure) -> Chosen:
    """Every part that can touch a figure."""
    return frozenset(name for some in figure.combinations for name in some)


def best_single(found: Sequence[Attributed]) -> tuple[Chosen, int]:
    """The one combination that meets most of these figures, if it had to be the same for all of them."""
    limits = [(able(one.figure), frozenset(one.met)) for one in found]
    every = frozenset().union(*(limit for limit, _ in limits))
    counted = ((parts, sum((parts & limit) in met for limit, met in limits)) for parts in subsets(every))
    return max(counted, key=lambda pair: (pair[1], -len(pair[0])))
