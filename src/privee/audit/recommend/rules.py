"""Which defenses come into question, as tables: what keeps what, what loses and why, and what protects nothing."""

from __future__ import annotations

import math
from typing import Any, Literal

from privee.audit.recommend.answer import Wishes
from privee.defenses import Defense, OrderedDP
from privee.defenses import defense as make_defense
from privee.defenses.ordered_dp import SMALLEST_EPSILON
from privee.errors import PriveeError

Kind = Literal["class", "top", "ranking"]

EPSILONS: tuple[float, ...] = (0.5, 1, 2, 4, 8, 16, 32, 64)
"""Of one release, the safest first."""

RULES: dict[tuple[Kind, bool], str] = {
    # (what must stay exact, must magnitudes mean something?): what keeps that and gives away least
    ("class", False): "label-only",
    ("class", True): "ordered-dp",
    ("top", False): "ordered-dp",
    ("top", True): "ordered-dp",
    ("ranking", False): "ranking-only",
    ("ranking", True): "ordered-dp",
}

OTHERS: dict[str, dict[Kind, str]] = {
    # Why a defense that was not chosen lost, by what must stay exact; {kept} is the share of records.
    "label-only": {
        "class": "hides more (epsilon 0), but its scores are 0 and 1 and mean nothing",
        "top": "keeps the predicted class alone, not the order that was asked for",
        "ranking": "keeps the predicted class alone, not the ranking",
    },
    "ranking-only": {
        "class": "gives the whole ranking away, and the predicted class was asked for",
        "top": "gives the whole ranking away, and the leading classes were asked for",
        "ranking": "hides more (epsilon 0), but its scores are drawn at random and mean nothing",
    },
    "rounding:digits=2": dict.fromkeys(
        ("class", "top", "ranking"),
        "the cheap rival, without draws; but it merges classes (ranking kept in {kept}) and has no guarantee",
    ),
    "gaussian:epsilon=0.5": dict.fromkeys(
        ("class", "top", "ranking"),
        "breaks the order (ranking kept in {kept}), and its proof assumes that scores are 0.1 apart at most",
    ),
}
ONLY_WHERE_FORMAL = ("gaussian:epsilon=0.5",)

NOT_NEEDED = "its scores mean something, at a cost in epsilon; nothing in the wishes asks for that"
"""Why ordered-dp lost where the order alone was asked for."""

NOT_PROTECTIVE = {
    "none": "hands out the scores themselves",
    "temperature:temperature=2": "one to one with a public setting: anyone can undo it",
    "privee-u:rho=0.1": "its intervals are public: who knows the defense gets the scores back",
    "privee-u+:rho_low=0.1,rho_high=0.9": "as PRIVEE-U: its intervals are public",
}
"""Never recommended, however the wishes are, and why."""


def kind_of(kept: int | None) -> Kind:
    """In the words of the tables."""
    return "ranking" if kept is None else "class" if kept == 1 else "top"


def candidates(wishes: Wishes, n_classes: int, public: Any = None) -> tuple[Defense, ...]:
    """Every setting that keeps what must stay exact within the budget, the safest first.

    Args:
        wishes: what must hold.
        n_classes: of the model.
        public: scores from which tail and prior are learned, if there are any.

    Example:
        >>> [d.spec for d in candidates(Wishes(keep="top-3", epsilon=8, queries=3), 10)][-2:]
        ['ordered-dp:epsilon=2,keep_top=3', 'ordered-dp:epsilon=2.666,keep_top=3']
    """
    kept = wishes.kept(n_classes)
    name = RULES[kind_of(kept), wishes.magnitudes]
    if name != OrderedDP.name:
        return (make_defense(name),)
    return tuple(ordered_dp(epsilon, kept, public) for epsilon in epsilons_up_to(wishes.epsilon_per_release))


def others(wishes: Wishes, n_classes: int, chosen: Defense, public: Any = None) -> dict[Defense, str]:
    """Defenses of other kinds than the chosen one, and why they lost."""
    kept = wishes.kept(n_classes)
    lost = {spec: why[kind_of(kept)] for spec, why in OTHERS.items() if wishes.formal or spec not in ONLY_WHERE_FORMAL}
    if n_classes == 2 and kept == 1:
        del lost["ranking-only"]  # says no more than the class
    found = {make_defense(spec): why for spec, why in lost.items() if spec != chosen.name}
    return found if isinstance(chosen, OrderedDP) else {ordered_dp(8, kept, public): NOT_NEEDED} | found


def ordered_dp(epsilon: float, kept: int | None, public: Any = None) -> OrderedDP:
    """Ordered-DP, shaped by public scores if there are any."""
    return OrderedDP(epsilon, keep_top=kept) if public is None else OrderedDP.fitted(epsilon, public, keep_top=kept)


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
