"""What the dashboard shows, read from the service and put into words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from privee.gateway.channel.party_channel import PartyHealth
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.views import Spending
from privee.gateway.numbers_as_text import counted
from privee.gateway.service import Health, Service
from privee.gateway.ui.allowance import allowance, given
from privee.gateway.ui.timeline import RANGES, Range, beginning, timeline

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


class EntityRow(NamedTuple):
    """One entity in the list of those near their limit, or the one that was looked up."""

    tag: str
    given: str
    share: float
    ends: int | None


class PartyCard(NamedTuple):
    """One party's health."""

    name: str
    ready: bool
    seconds: float
    weights: str
    rows: int | None
    error: str | None


class Act(NamedTuple):
    """One entry of the audit chain."""

    seq: int
    at: int
    actor: str
    deed: str
    about: str
    reason: str


async def overview(service: Service, shown: Range) -> dict[str, Any]:
    """Everything the page needs."""
    ledger, now = service.ledger, service.ledger.now()  # its time, which is that of what it recorded
    health, totals, near, activity, chain, acts = await asyncio.gather(
        service.health(),
        service.read(ledger.totals),
        service.read(ledger.near_limit, ENTITIES),
        service.read(ledger.activity, beginning(shown, now), shown.step),
        service.read(service.chain),
        service.read(service.acts, ACTS),
    )
    return _protection(service) | {
        "now": now,
        "ready": health.ready,
        "status": status_words(health),
        "totals": totals,
        "timeline": timeline(shown, now, activity),
        "ranges": tuple(RANGES.values()),
        "entities": [_row(one, ledger) for one in near],
        "parties": [_party(name, one, service.model.weights) for name, one in health.parties.items()],
        "chain": chain,
        "acts": [_act(entry) for entry in reversed(acts)],
    }


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


def status_words(health: Health) -> str:
    """Ready, or who is to blame."""
    if health.ready:
        everyone = "both parties" if len(health.parties) == 2 else f"all {len(health.parties)} parties"
        return f"the ledger can be read, and {everyone} answer."
    away = [party.error or f"party {name} does not answer" for name, party in health.parties.items()]
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
        "limited": bool(limits.policies),
        "windowed": limits.window is not None,
    }


def _row(one: Spending, ledger: Ledger) -> EntityRow:
    return EntityRow(one.tag, given(one.spent, ledger.limits), one.share, one.window_ends)


def _prospect(found: Spending, left: int | None) -> str:
    if left == 0:
        return "Used up: the next request about this entity is refused."
    before = "" if found.lifetime_releases else "Nothing was ever released about an entity with this id. "
    return before + (
        "There is no limit to what may be asked."
        if left is None
        else f"This entity may give {counted(left, 'more release')}."
    )


def _party(name: str, health: PartyHealth, expected: Mapping[str, str]) -> PartyCard:
    same = "match this model" if health.weights == expected[name] else "are another model's"
    weights = "not known" if health.weights is None else same
    return PartyCard(name, health.reachable, health.seconds, weights, health.rows, health.error)


def _act(entry: Mapping[str, Any]) -> Act:
    name, role = (entry["details"].get(word, "") for word in ("name", "role"))
    return Act(
        seq=entry["seq"],
        at=entry["at"],
        actor=entry["actor"],
        deed=DEEDS.get(entry["act"], entry["act"]),
        about=f"{entry['subject']} ({name}, {role})" if name and role else entry["subject"],
        reason=entry["reason"],
    )
