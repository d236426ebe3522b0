"""Asks inside one transaction: who is charged for what, and what is written down about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from privee.gateway.ledger.asks import Ask, Quote, Receipt, Refused
from privee.gateway.ledger.counting import Counting, Spent
from privee.gateway.ledger.limits import NOTHING, Limits, Price, fits, remaining


class Known(NamedTuple):
    """An ask whose entities are hashed."""

    ask: Ask
    entities: list[bytes]


class DoesNotFit(Exception):  # noqa: N818 - an answer, not an error
    """These entities cannot bear what was asked of them together."""

    def __init__(self, entities: set[bytes]) -> None:
        self.entities = entities


def charge_all(cursor: Any, counting: Counting, asks: Sequence[Known], now: int) -> list[Receipt]:
    """Charge all asks at once and record them.

    Raises:
        DoesNotFit: not all of them fit together; the caller must undo everything.
    """
    charged = _charged(cursor, counting, asks)
    costs: Spent = {}
    for known, entities in zip(asks, charged, strict=True):
        for entity, cost in _costs(known.ask.price, entities).items():
            costs[entity] = costs[entity].plus(cost) if entity in costs else cost
    spent = counting.charge(cursor, costs, now)
    too_much = costs.keys() - spent.keys() | _beyond(counting.limits, costs)
    if too_much:
        raise DoesNotFit(too_much)
    free = {entity for known in asks for entity in known.entities} - spent.keys()
    if free:
        spent |= counting.spent(cursor, free, now)
    counts = [len(entities) for entities in charged]
    _record(cursor, counting, asks, counts, "released", now)
    return [
        Receipt(known.ask.release_id, count, least_remaining(counting.limits, spent, known))
        for known, count in zip(asks, counts, strict=True)
    ]


def refuse_all(cursor: Any, counting: Counting, asks: Sequence[tuple[Known, set[bytes]]], now: int) -> list[Refused]:
    """Record asks that were refused because of these entities."""
    _record(cursor, counting, [known for known, _ in asks], [0] * len(asks), "refused", now)
    spent = counting.spent(cursor, {entity for _, entities in asks for entity in entities}, now)
    return [_refusal(counting.limits, spent, known, entities) for known, entities in asks]


def quote(limits: Limits, spent: Spent, known: Known) -> Quote:
    """What an ask would come to."""
    costs = _costs(known.ask.price, known.entities)
    sides = {entity: (spent.get(entity, NOTHING), cost) for entity, cost in costs.items()}
    wrong = {side for side in set(sides.values()) if not fits(limits, side[0].plus(side[1]))}  # few differ
    over = {entity for entity, side in sides.items() if side in wrong} if wrong else set()
    refusal = _refusal(limits, spent, known, over) if over else None
    positions = refusal.positions if refusal else ()
    asked, before = (refusal.asked, refusal.spent) if refusal else _worst(limits, spent, costs)
    return Quote(refusal is None, asked, before, least_remaining(limits, spent, known), positions, refusal)


def least_remaining(limits: Limits, spent: Spent, known: Known) -> int | None:
    """Releases that every entity of the ask can still bear: what one with the highest of all their sums could."""
    if not known.entities or (limits.releases is None and limits.epsilon is None):
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


def _costs(price: Price, entities: Iterable[bytes]) -> Spent:
    counts = Counter(entities)
    each = {count: price.times(count) for count in set(counts.values())}
    return {entity: each[count] for entity, count in counts.items()}


def _beyond(limits: Limits, costs: Spent) -> set[bytes]:
    """Entities asked for more than anybody may give; the statement would take it from one that is new."""
    wrong = {cost for cost in set(costs.values()) if not fits(limits, cost)}
    return {entity for entity, cost in costs.items() if cost in wrong} if wrong else set()


def _refusal(limits: Limits, spent: Spent, known: Known, over: set[bytes]) -> Refused:
    costs = {entity: cost for entity, cost in _costs(known.ask.price, known.entities).items() if entity in over}
    asked, before = _worst(limits, spent, costs)
    positions = [place for place, entity in enumerate(known.entities) if entity in over]
    return Refused(asked=asked, spent=before, limit=limits.as_dict(), positions=positions)


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
