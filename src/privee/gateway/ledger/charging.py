"""Asks inside one transaction: who is charged for what, and what is written down about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import Any

from privee.durable.packed import WIDTH
from privee.gateway.budget.price import NOTHING
from privee.gateway.ledger import quota_use
from privee.gateway.ledger.charge_sql import Counting, Spent, summed
from privee.gateway.ledger.limits import Limits, fits
from privee.gateway.ledger.quota_use import Overrun, Use
from privee.gateway.ledger.quoting import (
    MANY,
    Known,
    Variants,
    least_remaining,
    least_remaining_of,
    over_budget,
    over_quota,
    over_variants,
)
from privee.gateway.ledger.requests import Receipt, RefusedError


class DoesNotFitError(Exception):
    """These entities cannot bear what was asked of them together, or these keys' quotas do not cover it.

    Attributes:
        entities: all of them.
        overruns: by key.
        variants: of those entities that could bear it, were it not another variant.
    """

    def __init__(
        self,
        entities: set[bytes],
        overruns: Mapping[str, Overrun] | None = None,
        variants: Mapping[bytes, Variants] | None = None,
    ) -> None:
        self.entities, self.overruns, self.variants = entities, overruns or {}, variants or {}

    def blames(self, known: Known) -> bool:
        """Whether this ask is part of it."""
        return known.ask.key_id in self.overruns or not self.entities.isdisjoint(known.entities)


def charge_all(cursor: Any, counting: Counting, asks: Sequence[Known], now: int) -> list[Receipt]:
    """Charge all asks at once and record them.

    Raises:
        DoesNotFitError: not all of them fit together; the caller must undo everything.
    """
    charged, new = _charged(cursor, counting, asks), _new_variants(cursor, counting, asks)
    costs = summed([(known.ask.price, entities) for known, entities in zip(asks, charged, strict=True)])
    costs |= dict.fromkeys(new.keys() - costs.keys(), NOTHING)  # free, and still a variant
    if len(asks) == 1 and (receipt := _charge_one(cursor, counting, asks[0], costs, now, new)):
        return [receipt]
    spent = counting.charge(cursor, costs, now, new)
    too_much = costs.keys() - spent.keys() | _beyond(counting.limits, costs, new)
    if too_much:
        before, asked = counting.look(cursor, too_much - spent.keys(), now)  # those in `spent` had nothing before
        could = {one for one in too_much if fits(counting.limits, before.get(one, NOTHING).plus(costs[one]))}
        raise DoesNotFitError(too_much, variants={one: Variants(new[one], asked.get(one, 0)) for one in could})
    _use_quotas(cursor, counting, asks, charged, now)
    free = {entity for known in asks for entity in known.entities} - spent.keys()
    if free:
        spent |= counting.spent(cursor, free, now)
    counts = [len(entities) for entities in charged]
    _record(cursor, counting, ((known, count, "released") for known, count in zip(asks, counts, strict=True)), now)
    return [
        Receipt(known.ask.release_id, count, least_remaining(counting.limits, spent, known))
        for known, count in zip(asks, counts, strict=True)
    ]


def _charge_one(
    cursor: Any, counting: Counting, known: Known, costs: Spent, now: int, new: Mapping[bytes, int]
) -> Receipt | None:
    """A large ask with one price, without a row for every entity; None if it is none, or if it does not fit."""
    if len(costs) < MANY or known.ask.fingerprints is not None or _beyond(counting.limits, costs, new):
        return None
    sums = counting.charge_alike(cursor, costs, now, new)
    if sums is None:
        return None
    _use_quotas(cursor, counting, [known], [known.entities], now)
    _record(cursor, counting, [(known, len(known.entities), "released")], now)
    left = least_remaining_of(counting.limits, sums, known.ask.price)
    return Receipt(known.ask.release_id, len(known.entities), left)


def refuse_all(
    cursor: Any, counting: Counting, asks: Sequence[tuple[Known, DoesNotFitError]], now: int
) -> list[RefusedError]:
    """Record asks that were refused, and why."""
    spent = counting.spent(cursor, {entity for _, why in asks for entity in why.entities}, now)
    refusals = [_refusal(counting.limits, spent, known, why) for known, why in asks]
    rows = ((known, 0, refusal.outcome) for (known, _), refusal in zip(asks, refusals, strict=True))
    _record(cursor, counting, rows, now)
    return refusals


def record_refused(cursor: Any, counting: Counting, known: Known, refusal: RefusedError, now: int) -> None:
    """Write down that nothing was released."""
    _record(cursor, counting, [(known, 0, refusal.outcome)], now)


def _refusal(limits: Limits, spent: Spent, known: Known, why: DoesNotFitError) -> RefusedError:
    """Of several reasons the first of: what the entities may give, their variants, the key's quotas."""
    if known.ask.key_id in why.overruns:
        return over_quota(known, why.overruns[known.ask.key_id])
    over = why.entities - why.variants.keys()
    return over_budget(limits, spent, known, over) if over else over_variants(limits, known, why.variants)


def _charged(cursor: Any, counting: Counting, asks: Sequence[Known]) -> list[list[bytes]]:
    """The entities that each ask is charged for: all, or with fingerprints those not answered before."""
    pairs = [list(map(add, known.entities, known.ask.fingerprints or ())) for known in asks]
    new = counting.claim(cursor, "answered", {pair for of_ask in pairs for pair in of_ask})
    charged = []
    for (ask, entities, _), of_ask in zip(asks, pairs, strict=True):
        first = [pair for pair in dict.fromkeys(of_ask) if pair in new]
        new.difference_update(first)
        charged.append(entities if ask.fingerprints is None else [pair[:WIDTH] for pair in first])
    return charged


def _new_variants(cursor: Any, counting: Counting, asks: Sequence[Known]) -> Counter[bytes]:
    """Pin what is asked; tells how many of each entity's questions are new."""
    pairs = {pair for known in asks if known.questions for pair in map(add, known.entities, known.questions)}
    return Counter(pair[:WIDTH] for pair in counting.claim(cursor, "questions", pairs))


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


def _beyond(limits: Limits, costs: Spent, new: Mapping[bytes, int]) -> set[bytes]:
    """Entities asked for more than anybody may give; the statement would take it from one that is new."""
    wrong = {cost for cost in set(costs.values()) if not fits(limits, cost)}
    over = {entity for entity, cost in costs.items() if cost in wrong} if wrong else set()
    return over if limits.variants is None else over | {one for one, count in new.items() if count > limits.variants}


def _record(cursor: Any, counting: Counting, asks: Iterable[tuple[Known, int, str]], now: int) -> None:
    """Each ask with what it was charged for and its outcome."""
    rows = [
        (known.ask.release_id, now, known.ask.key_id, len(known.entities), count, outcome)
        for known, count, outcome in asks
    ]
    cursor.executemany(counting.record_statement, rows)
