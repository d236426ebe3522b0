"""What an ask comes to: what it costs, what remains after it, and why it does not fit, in numbers that people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from privee.gateway.budget.price import NOTHING, Price
from privee.gateway.ledger import quota_use
from privee.gateway.ledger.charge_sql import Counting, Spent, costs_of
from privee.gateway.ledger.limits import Limits, fits, remaining
from privee.gateway.ledger.quota_use import Overrun, Use
from privee.gateway.ledger.requests import (
    ChargeQuote,
    ChargeRequest,
    OverQuotaError,
    OverVariantsError,
    RefusedError,
)

MANY = 16
"""From so many entities on it is quicker to ask for the few sums that they have than for all of them."""


class Known(NamedTuple):
    """An ask whose entities are hashed, and its questions, if it has any."""

    ask: ChargeRequest
    entities: list[bytes]
    questions: list[bytes] | None = None


class Variants(NamedTuple):
    """Of one entity: how many are asked about for the first time, and how many were before."""

    new: int
    before: int


def quote(
    limits: Limits, spent: Spent, variants: Mapping[bytes, int], known: Known, overrun: Overrun | None = None
) -> ChargeQuote:
    """What an ask would come to; whether it is another variant is not known yet."""
    costs = costs_of(known.ask.price, known.entities)
    sides = {entity: (spent.get(entity, NOTHING), cost) for entity, cost in costs.items()}
    wrong = {side for side in set(sides.values()) if not fits(limits, side[0].plus(side[1]))}  # few differ
    over = {entity for entity, side in sides.items() if side in wrong} if wrong else set()
    quota = over_quota(known, overrun) if overrun else None
    refusal = over_budget(limits, spent, known, over) if over else quota
    asked, before = (refusal.asked, refusal.spent) if refusal and over else _worst(limits, spent, costs)
    return ChargeQuote(
        allowed=refusal is None,
        asked=asked,
        spent=before,
        remaining=least_remaining(limits, spent, known),
        positions=refusal.positions if refusal else (),
        refusal=refusal,
        variants=max(variants.values(), default=0),
    )


def quote_alike(
    limits: Limits, sums: set[Price], variants: int, known: Known, overrun: Overrun | None = None
) -> ChargeQuote | None:
    """The same for entities that all pay the same, from the sums that there are among them; None if any is too much."""
    price = known.ask.price
    if overrun or not all(fits(limits, one.plus(price)) for one in sums):
        return None
    asked, before = _worst_of(limits, {(price, one) for one in sums})
    left = least_remaining_of(limits, sums, price)
    return ChargeQuote(
        allowed=True, asked=asked, spent=before, remaining=left, positions=(), refusal=None, variants=variants
    )


def read_overrun(cursor: Any, counting: Counting, known: Known, now: int) -> Overrun | None:
    """Whether the key's quotas would cover an ask that is charged for all its entities."""
    use = Use([(known.ask.price, known.entities)])
    usage = quota_use.read(cursor, counting, known.ask.key_id, use, now)
    return quota_use.judge(usage, counting.limits, use, now) if usage else None


def least_remaining(limits: Limits, spent: Spent, known: Known) -> int | None:
    """Releases that every entity of the ask can still bear: what one with the highest of all their sums could."""
    return least_remaining_of(limits, {spent.get(entity, NOTHING) for entity in known.entities}, known.ask.price)


def least_remaining_of(limits: Limits, sums: set[Price], price: Price) -> int | None:
    """The same for entities that have spent these sums."""
    if not sums or not limits.policies:
        return None
    return remaining(limits, Price(*map(max, zip(*sums, strict=True))), price)


def over_budget(limits: Limits, spent: Spent, known: Known, over: set[bytes]) -> RefusedError:
    """What to answer to an ask whose entities would give away too much."""
    costs = {entity: cost for entity, cost in costs_of(known.ask.price, known.entities).items() if entity in over}
    asked, before = _worst(limits, spent, costs)
    positions = [place for place, entity in enumerate(known.entities) if entity in over]
    return RefusedError(asked=asked, spent=before, limit=limits.as_dict(), positions=positions)


def over_variants(limits: Limits, known: Known, over: Mapping[bytes, Variants]) -> OverVariantsError:
    """What to answer to an ask whose entities have no variant left for it; the numbers are of the one asked most."""
    positions = [place for place, entity in enumerate(known.entities) if entity in over]
    worst = max(over.values(), key=lambda one: (one.before, one.new))
    sides = {"asked": worst.new, "spent": worst.before, "limit": limits.variants or 0}
    return OverVariantsError(**{side: {"variants": count} for side, count in sides.items()}, positions=positions)


def over_quota(known: Known, overrun: Overrun) -> OverQuotaError:
    """What to answer to an ask that a quota does not cover."""
    positions = [place for place, entity in enumerate(known.entities) if entity in overrun.entities]
    sides = {"asked": overrun.asked, "spent": overrun.used, "limit": overrun.limit, "positions": positions}
    return OverQuotaError(overrun.quota, overrun.allowed, retry_after=overrun.retry_after, **sides)


def _worst(limits: Limits, spent: Spent, costs: Spent) -> tuple[dict[str, float], dict[str, float]]:
    """What is asked of the entity that has spent most, and what it has spent."""
    return _worst_of(limits, {(cost, spent.get(entity, NOTHING)) for entity, cost in costs.items()})


def _worst_of(limits: Limits, sides: set[tuple[Price, Price]]) -> tuple[dict[str, float], dict[str, float]]:
    asked, before = max(sides, key=lambda side: (limits.share(side[1]), *side), default=(NOTHING, NOTHING))
    return limits.show(asked), limits.show(before)
