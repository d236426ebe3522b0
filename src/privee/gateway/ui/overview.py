"""What the dashboard shows, read from the service and put into words.

That includes what the ledger allows each entity, and what one has spent of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from privee.gateway.budget.price import NOTHING, Price
from privee.gateway.channel.party_channel import PartyHealth
from privee.gateway.ledger.consumers import GivenTo, given_to
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.limits import Limits, remaining
from privee.gateway.ledger.views import Spending, tagged
from privee.gateway.numbers_as_text import counted, number
from privee.gateway.score_source import ServedModel
from privee.gateway.service import Health, Service
from privee.gateway.settings import GatewaySettings
from privee.gateway.ui.consumers import requests_part
from privee.gateway.ui.filters import Filters
from privee.gateway.ui.rendering import span

ENTITIES = 10
ACTS = 10
DEEDS = {
    "key.create": "Key made",
    "key.quota": "Quota changed",
    "key.revoke": "Key revoked",
    "ledger.reset": "Entity reset",
    "ledger.reset-many": "Entities reset",
    "ledger.accept-loss": "Loss accepted",
}

GRADES = {"open": "bad", "weak": "warn", "guarded": "good"}
"""How the grades of an audit look."""


class EntityRow(NamedTuple):
    """One entity in the list of those near their limit, or the one that was looked up."""

    tag: str
    given: str
    share: float
    ends: int | None
    variants: str


class PartyCard(NamedTuple):
    """One party's health."""

    name: str
    ready: bool
    seconds: float
    weights: str
    rows: int | None
    error: str | None
    sealed: str = ""
    handed_over: bool = False
    embedding_defense: str = ""


class Act(NamedTuple):
    """One entry of the audit chain."""

    seq: int
    at: int
    actor: str
    deed: str
    about: str
    reason: str


async def overview(service: Service, filters: Filters) -> dict[str, Any]:
    """Everything the page needs."""
    requests, health, totals, (entities, givers), chain, acts = await asyncio.gather(
        requests_part(service, filters),
        service.health(),
        service.read(service.ledger.totals),
        service.read(_entities, service, filters.entity),
        service.read(service.chain),
        service.read(service.acts, ACTS),
    )
    shown = {
        "now": service.ledger.now(),  # its time, which is that of what it recorded
        "ready": health.ready,
        "status": status_words(health, service.settings.codes),
        "totals": totals,
        "entities": [_row(one, service.ledger) for one in entities],
        "given": givers,
        "parties": [
            _party(name, health.parties[name], service.model, service.settings) for name in service.model.parties
        ],
        "chain": chain,
        "acts": [act_of(entry) for entry in reversed(acts)],
    }
    return _protection(service) | requests | shown


def _entities(service: Service, tag: str) -> tuple[list[Spending], list[GivenTo]]:
    """Those nearest their limit; or the one with this tag, and to whom it gave."""
    ledger, now = service.ledger, service.ledger.now()
    if not tag:
        return ledger.near_limit(ENTITIES), []
    with ledger.reading() as connection:
        return tagged(connection, ledger.limits, tag, now), given_to(connection, ledger.limits, tag, now)


def one_entity(service: Service, entity: str) -> dict[str, Any]:
    """What one entity has given away. Blocks: call it through `service.read`."""
    found = service.ledger.spent(entity)
    left = service.ledger.price([entity], service.inference.price).remaining
    return {
        "row": _row(found, service.ledger),
        "words": _prospect(found, left),
        "used_up": left == 0,
        "lifetime": counted(found.lifetime_releases, "release"),
    }


def status_words(health: Health, handed_over: Collection[str] = ()) -> str:
    """Ready, or who is to blame. A party whose codes are here answers nobody, and need not."""
    if health.ready and health.scored:
        return "the ledger can be read, and the model answers."
    if health.ready:
        asked = [name for name in health.parties if name not in handed_over]
        few = ["nobody has to answer", *(f"party {name} answers" for name in asked[:1]), "both parties answer"]
        answers = few[len(asked)] if len(asked) < len(few) else f"all {len(asked)} parties answer"
        here = f"; the codes of {' and '.join(handed_over)} are here" if handed_over else ""
        return f"the ledger can be read, and {answers}{here}."
    away = [party.error or f"{health.called(name)} does not answer" for name, party in health.parties.items()]
    blamed = [words for words, party in zip(away, health.parties.values(), strict=True) if not party.reachable]
    return "; ".join(([] if health.ledger else ["the ledger cannot be read"]) + blamed) + "."


def _protection(service: Service) -> dict[str, Any]:
    settings, limits = service.settings, service.ledger.limits
    return {
        "model": service.model,
        "counted": settings.counted,
        "defense": settings.defense,
        "guarantee": settings.defense.guarantee(len(service.model.classes)),
        "allowance": allowance(settings, limits, service.inference.price),
        "threat": threat_words(settings),
        "limited": bool(limits.policies),
        "windowed": limits.window is not None,
        "sealed": sealed_sentence(service.model),
        "audit": service.audit,
        "verdicts": service.audit.verdicts_on(settings.defense.spec) if service.audit else (),
        "grades": GRADES,
    }


def _row(one: Spending, ledger: Ledger) -> EntityRow:
    return EntityRow(one.tag, given(one.spent, ledger.limits), one.share, one.window_ends, asked(one, ledger.limits))


def _prospect(found: Spending, left: int | None) -> str:
    if left == 0:
        return "Used up: the next request about this entity is refused."
    before = "" if found.lifetime_releases else "Nothing was ever released about an entity with this id. "
    return before + (
        "There is no limit to what may be asked."
        if left is None
        else f"This entity may give {counted(left, 'more release')}."
    )


def _party(name: str, health: PartyHealth, model: ServedModel, settings: GatewaySettings) -> PartyCard:
    same = "match this model" if health.weights == model.weights[name] else "are another model's"
    weights = "not known" if health.weights is None else same
    sealed = sealed_words(model.sealed[name]) if name in model.seals else ""
    handed = name in settings.codes
    spec = model.embedding_specs.get(name, "")
    return PartyCard(name, health.reachable, health.seconds, weights, health.rows, health.error, sealed, handed, spec)


def act_of(entry: Mapping[str, Any]) -> Act:
    """An entry of the audit chain in words."""
    details = entry["details"] if isinstance(entry["details"], dict) else {}
    name, role = (details.get(word, "") for word in ("name", "role"))
    return Act(
        seq=entry["seq"],
        at=entry["at"],
        actor=entry["actor"],
        deed=DEEDS.get(entry["act"], entry["act"]),
        about=f"{entry['subject']} ({name}, {role})" if name and role else entry["subject"],
        reason=entry["reason"],
    )


def allowance(settings: GatewaySettings, limits: Limits, price: Price) -> str:
    """What each entity may give away, in a few sentences."""
    if not settings.counted:
        return "Everything, without end: nothing is counted."
    sentences = [_limit(limits, price)]
    sentences += [policy.promise_words() for policy in limits.policies if policy.promise_words()]
    sentences.append(_pinned(limits, "the active party's columns" if settings.scorer is None else "its row"))
    if settings.repeatable:
        sentences.append("The same question again gets the same answer, and is not counted.")
    sentences.append("Releases to all who ask are counted together. " + _end(limits))
    return " ".join(sentences)


def sealed_words(told: Mapping[str, Any]) -> str:
    """What can ever leave a sealed party, of one record."""
    drawn = "" if told["epsilon"] is None else f", drawn once with epsilon {told['epsilon']:g}"
    return f"one of {told['codes']} codes{drawn}: at most {told['leaked_bits']:.3g} bits of a record, ever"


def sealed_sentence(model: ServedModel) -> str:
    """What the seals of the passive parties mean for those who ask, or nothing if there are none."""
    if not model.seals:
        return ""
    if model.all_sealed:
        return (
            "All passive parties are sealed: however often and with whatever columns anybody asks, no more of a record "
            "leaves its owner than its code. Limits of releases and variants are not needed for that; scores may be "
            "released as they are."
        )
    others = [party for party in model.parties[1:] if party not in model.seals]
    return f"{' and '.join(model.seals)} sealed; {' and '.join(others)} not: defense and limits protect the latter."


def threat_words(settings: GatewaySettings) -> str:
    """From whom a release protects what, where a model stands alone; nothing for a joint one."""
    if settings.scorer is None:
        return ""
    if settings.scorer.rows is not None:
        return (
            "The columns of an entity's row, from whoever asks with a key. Whoever runs this gateway, or the model, "
            "has rows and scores."
        )
    return (
        "Rows come from whoever asks, who knows them: a release hides nothing of a row from its sender. It hides the "
        "model's exact scores, about which nothing is proven; limits count by the ids that the sender gives."
    )


def given(spent: Mapping[str, float], limits: Limits) -> str:
    """What was spent of each thing that is limited.

    Example:
        >>> given({"releases": 3}, Limits())
        '3 releases'
    """
    words = [policy.used_words(spent[policy.quantity]) for policy in limits.policies]
    return ", ".join(words) or counted(int(spent["releases"]), "release")


def asked(one: Spending, limits: Limits) -> str:
    """In how many variants an entity was asked about, of how many."""
    return number(one.variants) if limits.variants is None else f"{number(one.variants)} of {number(limits.variants)}"


def _pinned(limits: Limits, whose: str) -> str:
    if limits.variants is None:
        return f"It may be asked about in any number of variants of {whose}."
    most = counted(limits.variants, "variant")
    return f"It may be asked about in {most} of {whose}, ever; the same question again is no other."


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
