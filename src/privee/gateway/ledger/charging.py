"""Asks inside one transaction: who is charged for what, and what is written down about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from privee.gateway.budget.price import NOTHING, Price
from privee.gateway.ledger import quota_use
from privee.gateway.ledger.charge_sql import Counting, Spent, costs_of, summed
from privee.gateway.ledger.limits import Limits, fits, remaining
from privee.gateway.ledger.quota_use import Overrun, Use
from privee.gateway.ledger.requests import ChargeQuote, ChargeRequest, OverQuotaError, Receipt, RefusedError


class Known(NamedTuple):
    """An ask whose entities are hashed."""

    ask: ChargeRequest
    entities: list[bytes]


class DoesNotFitError(Exception):
    """These entities cannot bear what was asked of them together, or these keys' quotas do not cover it."""

    def __init__(self, entities: set[bytes], overruns: Mapping[str, Overrun] | None = None) -> None:
        self.entities, self.overruns = entities, overruns or {}

    def blames(self, known: Known) -> bool:
        """Whether this ask is part of it."""
        return known.ask.key_id in self.overruns or not self.entities.isdisjoint(known.entities)


def charge_all(cursor: Any, counting: Counting, asks: Sequence[Known], now: int) -> list[Receipt]:
    """Charge all asks at once and record them.

    Raises:
        DoesNotFitError: not all of them fit together; the caller must undo everything.
    """
    charged = _charged(cursor, counting, asks)
    costs = summed((known.ask.price, entities) for known, entities in zip(asks, charged, strict=True))
    spent = counting.charge(cursor, costs, now)
    too_much = costs.keys() - spent.keys() | _beyond(counting.limits, costs)
    if too_much:
        raise DoesNotFitError(too_much)
    _use_quotas(cursor, counting, asks, charged, now)
    free = {entity for known in asks for entity in known.entities} - spent.keys()
    if free:
        spent |= counting.spent(cursor, free, now)
    counts = [len(entities) for entities in charged]
    _record(cursor, counting, asks, counts, "released", now)
    return [
        Receipt(known.ask.release_id, count, least_remaining(counting.limits, spent, known))
        for known, count in zip(asks, counts, strict=True)
    ]


def refuse_all(
    cursor: Any, counting: Counting, asks: Sequence[tuple[Known, DoesNotFitError]], now: int
) -> list[RefusedError]:
    """Record asks that were refused, and why."""
    record_refused(cursor, counting, [known for known, _ in asks], now)
    spent = counting.spent(cursor, {entity for _, why in asks for entity in why.entities}, now)
    return [
        over_quota(known, why.overruns[known.ask.key_id])
        if known.ask.key_id in why.overruns
        else _refusal(counting.limits, spent, known, why.entities)
        for known, why in asks
    ]


def record_refused(cursor: Any, counting: Counting, asks: Sequence[Known], now: int) -> None:
    """Write down that nothing was released."""
    _record(cursor, counting, asks, [0] * len(asks), "refused", now)


def over_quota(known: Known, overrun: Overrun) -> OverQuotaError:
    """What to answer to an ask that a quota does not cover."""
    positions = [place for place, entity in enumerate(known.entities) if entity in overrun.entities]
    sides = {"asked": overrun.asked, "spent": overrun.used, "limit": overrun.limit, "positions": positions}
    return OverQuotaError(overrun.quota, overrun.allowed, retry_after=overrun.retry_after, **sides)


def read_overrun(cursor: Any, counting: Counting, known: Known, now: int) -> Overrun | None:
    """Whether the key's quotas would cover an ask that is charged for all its entities."""
    use = Use([(known.ask.price, known.entities)])
    usage = quota_use.read(cursor, counting, known.ask.key_id, use, now)
    return quota_use.judge(usage, counting.limits, use, now) if usage else None


def quote(limits: Limits, spent: Spent, known: Known, overrun: Overrun | None = None) -> ChargeQuote:
    """What an ask would come to."""
    costs = costs_of(known.ask.price, known.entities)
    sides = {entity: (spent.get(entity, NOTHING), cost) for entity, cost in costs.items()}
    wrong = {side for side in set(sides.values()) if not fits(limits, side[0].plus(side[1]))}  # few differ
    over = {entity for entity, side in sides.items() if side in wrong} if wrong else set()
    quota = over_quota(known, overrun) if overrun else None
    refusal = _refusal(limits, spent, known, over) if over else quota
    positions = refusal.positions if refusal else ()
    asked, before = (refusal.asked, refusal.spent) if refusal and over else _worst(limits, spent, costs)
    return ChargeQuote(refusal is None, asked, before, least_remaining(limits, spent, known), positions, refusal)


def least_remaining(limits: Limits, spent: Spent, known: Known) -> int | None:
    """Releases that every entity of the ask can still bear: what one with the highest of all their sums could."""
    if not known.entities or not limits.policies:
        return None
    sums = {spent.get(entity, NOTHING) for entity in known.entities}
    return remaining(limits, Price(*map(max, zip(*sums, strict=True))), known.ask.price)


def _charged(cursor: Any, counting: Counting, asks: Sequence[Known]) -> list[list[bytes]]:
    """The entities that each ask is charged for: all, or with fingerprints those not answered before."""
    pairs = [list(zip(entities, ask.fingerprints or (), strict=ask.fingerprints is not None)) for ask, entities in asks]
    new = counting.claim(cursor, {pair for of_ask in pairs for pair in of_ask})
    charged = []
    for (ask, entities), of_ask in zip(asks, pairs, strict=True):
        first = [pair for pair in dict.fromkeys(of_ask) if pair in new]
        new.difference_update(first)
        charged.append(entities if ask.fingerprints is None else [entity for entity, _ in first])
    return charged


def _use_quotas(cursor: Any, counting: Counting, asks: Sequence[Known], charged: list[list[bytes]], now: int) -> None:
    """Count for the keys, after the entities: whoever waits for a key's row waits for the end of this alone."""
    uses: dict[str, Use] = {}
    for known, entities in zip(asks, charged, strict=True):
        if entities:
            parts = uses[known.ask.key_id].parts if known.ask.key_id in uses else []
            uses[known.ask.key_id] = Use([*parts, (known.ask.price, entities)])
    found = {key_id: quota_use.count_releases(cursor, counting, key_id, uses[key_id], now) for key_id in sorted(uses)}
    usages = [usage for usage in found.values() if usage]  # sorted: no deadlock
    overruns = {one.key_id: quota_use.judge(one, counting.limits, uses[one.key_id], now) for one in usages}
    too_much = {key_id: overrun for key_id, overrun in overruns.items() if overrun}
    if too_much:
        raise DoesNotFitError(set(), too_much)
    for one in usages:
        quota_use.count_entities(cursor, counting, one, uses[one.key_id], now)


def _beyond(limits: Limits, costs: Spent) -> set[bytes]:
    """Entities asked for more than anybody may give; the statement would take it from one that is new."""
    wrong = {cost for cost in set(costs.values()) if not fits(limits, cost)}
    return {entity for entity, cost in costs.items() if cost in wrong} if wrong else set()


def _refusal(limits: Limits, spent: Spent, known: Known, over: set[bytes]) -> RefusedError:
    costs = {entity: cost for entity, cost in costs_of(known.ask.price, known.entities).items() if entity in over}
    asked, before = _worst(limits, spent, costs)
    positions = [place for place, entity in enumerate(known.entities) if entity in over]
    return RefusedError(asked=asked, spent=before, limit=limits.as_dict(), positions=positions)


def _worst(limits: Limits, spent: Spent, costs: Spent) -> tuple[dict[str, float], dict[str, float]]:
    """What is asked of the entity that has spent most, and what it has spent."""
    sides = {(cost, spent.get(entity, NOTHING)) for entity, cost in costs.items()}
    asked, before = max(sides, key=lambda side: (limits.share(side[1]), *side), default=(NOTHING, NOTHING))
    return limits.show(asked), limits.show(before)


def _record(cursor: Any, counting: Counting, asks: Sequence[Known], counts: list[int], outcome: str, now: int) -> None:
    rows = [
        (known.ask.release_id, now, known.ask.key_id, len(known.entities), count, outcome)
        for known, count in zip(asks, counts, strict=True)
    ]
    cursor.executemany(counting.record_statement, rows)
