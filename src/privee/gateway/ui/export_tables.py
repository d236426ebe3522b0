"""The rows of every table that can be had as a CSV file, read in pieces, so that none holds the ledger for long."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from privee.gateway.ledger.consumers import Consumer, consumers, given_to
from privee.gateway.ledger.limits import Limits
from privee.gateway.ledger.use import latest, over_time
from privee.gateway.ledger.views import Spending, in_order, tagged
from privee.gateway.service import Service
from privee.gateway.ui.consumers import consumer_row
from privee.gateway.ui.csv_text import Kind
from privee.gateway.ui.filters import Filters
from privee.gateway.ui.overview import Act, act_of, given

PIECE = 5000
NO_ACT = 1 << 62
END_OF_TIME = 253_402_300_800  # the year 10000
Result = TypeVar("Result")
Rows = list[tuple[Any, ...]]


class Export(NamedTuple):
    """A table that can be had as a file: what its columns hold, and its rows in pieces."""

    columns: dict[str, Kind]
    pieces: Callable[[Service, Filters], AsyncIterator[Rows]]


async def _requests(service: Service, filters: Filters) -> AsyncIterator[Rows]:
    """The newest first."""
    chosen, before = filters.chosen(filters.span(service.ledger.now())), None
    while found := await _read(service, latest, chosen, PIECE, before):
        order = operator.attrgetter("at", "key_id", "name", "outcome", "entities", "releases", "charged", "id")
        yield list(map(order, found))
        before = (found[-1].at, found[-1].id)


async def _over_time(service: Service, filters: Filters) -> AsyncIterator[Rows]:
    span = filters.span(service.ledger.now())
    uses = await _read(service, over_time, filters.chosen(span), span.starts)
    yield [(start, *use) for start, use in zip(span.starts, uses, strict=True) if use.requests]


async def _consumers(service: Service, filters: Filters) -> AsyncIterator[Rows]:
    """Those with the most requests first."""
    now, keys = service.ledger.now(), await service.read(service.keys.list)
    found, _ = await _read(service, consumers, keys, filters.chosen(filters.span(now)), now)
    yield [_consumer(one, now) for one in found]


def _consumer(one: Consumer, now: int) -> tuple[Any, ...]:
    row, parts = consumer_row(one, now), {part.what: part for part in one.quotas}
    quotas = [(str(part.per), part.used) if part else (None, None) for part in map(parts.get, ("releases", "entities"))]
    name, state = (one.record.name, one.record.state(now)) if one.record else (None, "not in the list of keys")
    return (one.key_id, name, state, one.use.requests, *one.use, *quotas[0], *quotas[1], row.share, one.last_at)


async def _entities(service: Service, filters: Filters) -> AsyncIterator[Rows]:
    """All of them, in the order of their tags: by share, each piece would have to sort them anew."""
    ledger, after = service.ledger, b""
    if filters.entity:
        found = await _read(service, tagged, ledger.limits, filters.entity, ledger.now())
        yield [_entity(one, ledger.limits) for one in found]
        return
    while True:
        rows, after = await _read(service, _some_entities, ledger.limits, ledger.now(), after)
        if not rows:
            return
        yield rows


def _some_entities(connection: sa.Connection, limits: Limits, now: int, after: bytes) -> tuple[Rows, bytes]:
    """On the ledger's thread, as putting so many into words takes a while."""
    piece = in_order(connection, limits, PIECE, now, after)
    return [_entity(one.spending, limits) for one in piece], piece[-1].entity if piece else after


def _entity(one: Spending, limits: Limits) -> tuple[Any, ...]:
    words, lifetime = given(one.spent, limits), (one.lifetime_releases, one.lifetime_epsilon)
    return (one.tag, one.spent["releases"], words, one.share, one.window_ends, *lifetime, one.variants)


async def _given(service: Service, filters: Filters) -> AsyncIterator[Rows]:
    if filters.entity:
        yield list(await _read(service, given_to, service.ledger.limits, filters.entity, service.ledger.now()))


async def _acts(service: Service, filters: Filters) -> AsyncIterator[Rows]:
    """The newest first, whatever the filters, which are about requests and entities."""
    before = NO_ACT
    while found := await service.read(service.acts_before, before, PIECE):
        yield [_act(act_of(entry)) for entry in found]
        before = found[-1]["seq"]


def _act(one: Act) -> tuple[Any, ...]:
    """As text, but for the time: somebody may have tampered with it."""
    at = one.at if isinstance(one.at, int) and 0 <= one.at < END_OF_TIME else None
    return (str(one.seq), at, *map(str, one[2:]))


async def _read(service: Service, work: Callable[..., Result], *args: Any) -> Result:
    """One look at the ledger, on a thread of its own."""

    def looked() -> Result:
        with service.ledger.reading() as connection:
            return work(connection, *args)

    return await service.read(looked)


EXPORTS = {
    "requests": Export(
        {
            "time": "time",
            "consumer": "text",
            "name": "text",
            "outcome": "text",
            "entities": "count",
            "releases": "count",
            "charged": "count",
            "id": "text",
        },
        _requests,
    ),
    "requests-over-time": Export(
        {
            "from": "time",
            "answered": "count",
            "refused": "count",
            "releases": "count",
            "charged": "count",
            "refused_variants": "count",
        },
        _over_time,
    ),
    "consumers": Export(
        {
            "consumer": "text",
            "name": "text",
            "state": "text",
            "requests": "count",
            "answered": "count",
            "refused": "count",
            "releases": "count",
            "charged": "count",
            "refused_variants": "count",
            "quota_releases": "text",
            "used_releases": "count",
            "quota_entities": "text",
            "used_entities": "count",
            "quota_share_used": "share",
            "last_request": "time",
        },
        _consumers,
    ),
    "entities": Export(
        {
            "tag": "text",
            "releases": "count",
            "given": "text",
            "share_of_limit": "share",
            "starts_anew": "time",
            "releases_ever": "count",
            "epsilon_ever": "share",
            "variants": "count",
        },
        _entities,
    ),
    "entity-consumers": Export(
        {"tag": "text", "consumer": "text", "name": "text", "releases": "count", "last_release": "time"}, _given
    ),
    "acts": Export(
        {"entry": "text", "time": "time", "who": "text", "what": "text", "about": "text", "reason": "text"}, _acts
    ),
}
"""By the name of the file."""
