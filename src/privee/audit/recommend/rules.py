"""Which defenses come into question, from what each says of itself (see `privee.defenses.advice`)."""

from __future__ import annotations

import math
from typing import Any, get_args

from privee.audit.recommend.answer import Wishes
from privee.defenses import Defense, known_defenses
from privee.defenses import defense as make_defense
from privee.defenses.advice import Kept
from privee.defenses.ordered_dp import SMALLEST_EPSILON
from privee.errors import PriveeError

EPSILONS: tuple[float, ...] = (0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Of one release, the safest first."""

TYPICAL_EPSILON = 8
"""Of a defense that lost because its numbers need not mean anything."""


def kind_of(wishes: Wishes, n_classes: int) -> Kept:
    """What must be kept, in the words of an advice."""
    kept = wishes.kept(n_classes)
    if wishes.between_records:
        return "records"
    return "ranking" if kept is None else "class" if kept == 1 else "top"


def candidates(wishes: Wishes, n_classes: int, public: Any = None) -> tuple[Defense, ...]:
    """Every setting that keeps what must be kept within the budget, the safest first.

    Args:
        wishes: what must hold.
        n_classes: of the model.
        public: scores from which tail and prior are learned, if there are any.

    Example:
        >>> [d.spec for d in candidates(Wishes(keep="top-3", epsilon=8, queries=3), 10)][-2:]
        ['ordered-dp:epsilon=2,keep_top=3', 'ordered-dp:epsilon=2.666,keep_top=3']
    """
    kept, kind = wishes.kept(n_classes), kind_of(wishes, n_classes)
    cls = safest(kind, magnitudes=wishes.magnitudes)
    first = () if cls.advice.meaningful else (_as_shown(cls),)
    if first and wishes.min_auc is None:
        return first
    cls = safest(kind, magnitudes=True)
    epsilons = epsilons_up_to(wishes.epsilon_per_release)
    return (*first, *(cls.within(epsilon, keep_top=kept, public=public) for epsilon in epsilons))


def safest(kind: Kept, *, magnitudes: bool) -> type[Defense]:
    """What keeps this exact and gives away least, where the released numbers must mean something or need not."""
    keeping = [cls for cls in known_defenses().values() if cls.advice.wins and kind in cls.advice.keeps]
    enough = [cls for cls in keeping if cls.advice.meaningful or not magnitudes]
    return min(enough, key=lambda cls: cls.advice.meaningful)  # the first of equals, hence by place


def others(wishes: Wishes, n_classes: int, chosen: Defense, public: Any = None) -> dict[Defense, str]:
    """Defenses of other kinds than the chosen one, and why they lost; those that keep something first."""
    kept, kind = wishes.kept(n_classes), kind_of(wishes, n_classes)
    lost: dict[Defense, str] = {}
    for cls in sorted(known_defenses().values(), key=_by_what_is_kept):
        said, why = cls.advice, cls.advice.why_lost(kind)
        unasked = said.formal_only and not wishes.formal
        no_more = n_classes == 2 and kind == "class" and said.keeps == ("ranking",)  # then it says the class alone
        if cls is type(chosen) or not why or unasked or no_more:
            continue
        top = kept if kind in said.keeps else None
        typical = cls.within(TYPICAL_EPSILON, keep_top=top, public=public) if said.meaningful else _as_shown(cls)
        lost[typical] = why
    return lost


def not_protective() -> dict[Defense, str]:
    """What is never recommended, however the wishes are, and why."""
    known = known_defenses().values()
    return {_as_shown(cls): cls.advice.unprotective for cls in known if cls.advice.unprotective}


def _as_shown(cls: type[Defense]) -> Defense:
    return make_defense(cls.example or cls.name)


def _by_what_is_kept(cls: type[Defense]) -> tuple[int, int]:
    """The more kinds of order can be asked for the earlier; then the class, leading classes, the ranking; then none."""
    order = get_args(Kept)
    first = min((order.index(kept) for kept in cls.advice.keeps), default=len(order))
    return first, -len(cls.advice.keeps)


def epsilons_up_to(limit: float | None) -> tuple[float, ...]:
    """The grid below the limit, and the limit itself (rounded down)."""
    if limit is None:
        return EPSILONS
    thousandths = math.floor(1000 * limit + 1e-6)
    last = thousandths // 1000 if thousandths % 1000 == 0 else thousandths / 1000
    if last < SMALLEST_EPSILON:
        raise PriveeError(
            f"epsilon leaves less than {SMALLEST_EPSILON:g} for each release; raise it, or ask for fewer releases"
        )
    return (*(epsilon for epsilon in EPSILONS if epsilon < last), last)
