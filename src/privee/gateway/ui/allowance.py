"""What the ledger allows each entity, and what one has spent of it, in words."""

from __future__ import annotations

from collections.abc import Mapping

from privee.gateway.budget.price import NOTHING, Price
from privee.gateway.ledger.limits import Limits, remaining
from privee.gateway.numbers_as_text import counted
from privee.gateway.settings import GatewaySettings
from privee.gateway.ui.filters import span


def allowance(settings: GatewaySettings, limits: Limits, price: Price) -> str:
    """What each entity may give away, in a few sentences."""
    if not settings.counted:
        return "Everything, without end: nothing is counted."
    sentences = [_limit(limits, price)]
    sentences += [policy.promise_words() for policy in limits.policies if policy.promise_words()]
    if settings.repeatable:
        sentences.append("The same question again gets the same answer, and is not counted.")
    sentences.append("Releases to all who ask are counted together. " + _end(limits))
    return " ".join(sentences)


def given(spent: Mapping[str, float], limits: Limits) -> str:
    """What was spent of each thing that is limited.

    Example:
        >>> given({"releases": 3}, Limits())
        '3 releases'
    """
    words = [policy.used_words(spent[policy.quantity]) for policy in limits.policies]
    return ", ".join(words) or counted(int(spent["releases"]), "release")


def _limit(limits: Limits, price: Price) -> str:
    if not limits.policies:
        return "Each entity may give any number of releases: they are counted, and there is no limit."
    parts = " and ".join(policy.allowed_words() for policy in limits.policies)
    most = remaining(limits, NOTHING, price)
    known = all(policy.quantity == "releases" for policy in limits.policies)
    worth = "" if most is None or known else f", which is {counted(most, 'release')}"
    return f"Each entity may give {parts} at most{worth}."


def _end(limits: Limits) -> str:
    if limits.window is None:
        return "Nothing is forgotten with time; an administrator can reset an entity, which the audit chain then shows."
    return (
        f"An entity's count starts anew {span(limits.window)} after the release it began with, or when an "
        "administrator resets it, which the audit chain then shows."
    )
