"""How many releases of a record a defense can bear where no closed form of an attack says so: by epsilon, or in words.

The chances of PRIVEE-U and U+ are in `budget_plan`.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from privee.defenses import Defense
from privee.errors import SettingError
from privee.randomness import seeded
from privee.theory.composition import composed_epsilon

TOTAL = 8.0
"""The total epsilon of a record unless another is given."""
MOST = 10**9

Kind = Literal["unlimited", "epsilon", "repeats", "unbounded"]


@dataclasses.dataclass(frozen=True)
class ReleaseBudget:
    """What many releases of one record come to.

    Attributes:
        defense: its settings.
        classes: of the model.
        kind: "epsilon": so many releases keep to a total; "unlimited": what is proven of one holds for any number of
            them; "repeats": the same scores give the same release; "unbounded": nothing is proven.
        queries: how many fit; None where no number does.
        words: what that means.
        epsilon, delta: of one release, where there is such a proof.
        total: of all of them together.
        total_delta: with which chance the total may fail.
    """

    defense: dict[str, Any]
    classes: int
    kind: Kind
    queries: int | None
    words: str
    epsilon: float | None = None
    delta: float | None = None
    total: float | None = None
    total_delta: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def release_budget(defense: Defense, *, classes: int = 10, total: float = TOTAL, delta: float = 0.0) -> ReleaseBudget:
    """Of any defense: how many fresh releases keep to a total epsilon, or why no number of them bounds anything.

    Args:
        defense: what makes the releases.
        classes: of the model.
        total: epsilon of all releases of a record together.
        delta: above 0, advanced composition is used where it allows more.

    Example:
        >>> import privee
        >>> release_budget(privee.OrderedDP(epsilon=0.5), total=8).queries
        16
    """
    if not 0 < total < math.inf or not 0 <= delta < 1:
        raise SettingError("the total epsilon must be a number above 0, delta from 0 to below 1")
    proven = defense.guarantee(classes)
    about: dict[str, Any] = {"defense": defense.settings(), "classes": classes}
    if proven.epsilon is None or math.isinf(proven.epsilon):
        if _repeats(defense, classes):
            return ReleaseBudget(**about, kind="repeats", queries=None, words=REPEATS)
        return ReleaseBudget(**about, kind="unbounded", queries=None, words=UNBOUNDED)
    if proven.epsilon == 0:
        return ReleaseBudget(**about, kind="unlimited", queries=None, words=UNLIMITED, epsilon=0.0, delta=0.0)
    if proven.delta and delta:
        raise SettingError(f"{defense.name} has a delta of its own, which adds up: leave --delta out")
    queries = most_releases(proven.epsilon, total, delta)
    failing = queries * proven.delta if proven.delta else delta
    return ReleaseBudget(
        **about,
        kind="epsilon",
        queries=queries,
        words=_words(proven.epsilon, queries, total, failing, delta),
        epsilon=proven.epsilon,
        delta=proven.delta,
        total=total,
        total_delta=failing,
    )


def most_releases(epsilon: float, total: float, delta: float = 0.0) -> int:
    """The largest number of releases that compose to the total at most; a billion stands for more.

    Example:
        >>> most_releases(0.1, 1.0), most_releases(0.1, 8.0, delta=1e-6)
        (10, 181)
    """
    low = min(math.floor(Fraction(repr(float(total))) / Fraction(repr(float(epsilon)))), MOST)  # ten times 0.1 is 1
    if delta == 0:
        return low
    high = low + 1
    while high < MOST and composed_epsilon(epsilon, high, delta) <= total:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if composed_epsilon(epsilon, middle, delta) <= total else (low, middle)
    return low


UNLIMITED = (
    "what is proven of one release holds for any number of them; however often the same question is asked, nothing is "
    "added"
)
REPEATS = (
    "the same scores give the same release, so asking again adds nothing, and no number bounds what the first one "
    "tells; other own columns make other scores, and tell something new each time"
)
UNBOUNDED = (
    "nothing is proven about one release, so no number bounds what many tell; `privee audit --queries 10` measures it, "
    "and `privee gateway serve --releases 10` holds everyone to a number"
)


def _repeats(defense: Defense, classes: int) -> bool:
    """Whether draws play no part: tried out, so that no defense has to say it of itself."""
    scores = np.arange(1.0, classes + 1) / (classes * (classes + 1) / 2)
    first, second = (defense.release(scores, draws=seeded(seed)) for seed in (1, 2))
    return bool(np.array_equal(first, second))


def _words(epsilon: float, queries: int, total: float, failing: float, advanced: float) -> str:
    if not queries:
        return f"one release costs epsilon {epsilon:g}, more than the total of {total:g}"
    how = "by basic or advanced composition" if advanced else "simply added up"
    chance = f", which may fail with a chance of {failing:.3g}" if failing else ""
    return f"each costs epsilon {epsilon:g}, and so many keep to a total of {total:g} ({how}{chance})"
