"""What the ledger allows each entity, and what one has spent of it, in words."""

from __future__ import annotations

from collections.abc import Mapping

from privee.gateway.ledger.limits import NOTHING, Limits, Price, remaining
from privee.gateway.settings import GatewaySettings
from privee.gateway.ui.filters import counted, number, span


def allowance(settings: GatewaySettings, limits: Limits, price: Price) -> str:
    """What each entity may give away, in a few sentences."""
    if not settings.counted:
        return "Everything, without end: nothing is counted."
    sentences = [_limit(limits, price)]
    if settings.within is not None and limits.releases is not None and limits.releases != settings.releases:
        chance = 0.5 if settings.probability is None else settings.probability
        sentences.append(
            f"With no more, the chance to know some score to within {100 * settings.within:g} % of its value stays at "
            f"or below {100 * chance:g} %."
        )
    if settings.repeatable:
        sentences.append("The same question again gets the same answer, and is not counted.")
    sentences.append("Releases to all who ask are counted together. " + _end(limits))
    return " ".join(sentences)


def given(spent: Mapping[str, float], limits: Limits) -> str:
    """What was spent of each thing that is limited.

    Example:
        >>> given({"releases": 3, "epsilon": 1.5}, Limits(epsilon=8 * 10**12))
        'epsilon 1.5 of 8'
    """
    allowed = limits.as_dict()
    words = []
    if "releases" in allowed:
        words.append(f"{number(spent['releases'])} of {counted(int(allowed['releases']), 'release')}")
    if "epsilon" in allowed:
        words.append(f"epsilon {number(round(spent['epsilon'], 6))} of {number(allowed['epsilon'])}")
    return ", ".join(words) or counted(int(spent["releases"]), "release")


def _limit(limits: Limits, price: Price) -> str:
    allowed = limits.as_dict()
    parts = []
    if "releases" in allowed:
        parts.append(counted(int(allowed["releases"]), "release"))
    if "epsilon" in allowed:
        how = f"by basic or advanced composition with delta {limits.delta:g}" if limits.delta else "simply added up"
        parts.append(f"a total epsilon of {number(allowed['epsilon'])} ({how})")
    if not parts:
        return "Each entity may give any number of releases: they are counted, and there is no limit."
    most = remaining(limits, NOTHING, price)
    worth = f", which is {counted(most, 'release')}" if "epsilon" in allowed and most is not None else ""
    return f"Each entity may give {' and '.join(parts)} at most{worth}."


def _end(limits: Limits) -> str:
    if limits.window is None:
        return "Nothing is forgotten with time; an administrator can reset an entity, which the audit chain then shows."
    return (
        f"An entity's count starts anew {span(limits.window)} after the release it began with, or when an "
        "administrator resets it, which the audit chain then shows."
    )
