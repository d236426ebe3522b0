"""Requests, and the consumers who made them, as the pages show them; and a page for each consumer."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response

from privee.gateway.http.problems import DeniedError
from privee.gateway.ledger.consumers import Consumer, QuotaPart, consumers
from privee.gateway.ledger.use import AskedRow, Chosen, Use, latest, over_time
from privee.gateway.numbers_as_text import number
from privee.gateway.service import Service
from privee.gateway.ui.filters import Filters, read_filters
from privee.gateway.ui.page_route import PageRoute
from privee.gateway.ui.rendering import page
from privee.gateway.ui.sign_in import Reader
from privee.gateway.ui.timeline import RANGES, Span, Timeline, timeline

CONSUMERS, NEWEST = 20, 10
"""How many stand in the tables of consumers and requests; the rest is in their CSV files."""
UNKNOWN = "a key that is not in the list of keys"


class ConsumerRow(NamedTuple):
    """A consumer in a table; `state` is empty for a key that can be used, or is not in the list of keys."""

    id: str
    name: str
    state: str
    use: Use
    quota: str
    share: float | None
    last_at: int | None


class Option(NamedTuple):
    """A consumer that can be chosen in a form."""

    id: str
    name: str


router = APIRouter(prefix="/ui", include_in_schema=False, route_class=PageRoute)


@router.get("/consumers/{key_id}")
async def consumer(request: Request, reader: Reader, key_id: str) -> Response:
    """One consumer: its key, what it has used of its quotas, its requests."""
    service: Service = request.app.state.service
    filters = read_filters([("consumer", key_id), *request.query_params.multi_items()])
    values = await requests_part(service, filters)
    if not values["consumers"]:
        raise DeniedError(404, "not-found", "There is no consumer with this id.")
    found: Consumer = values["found"][0]
    about = {"reader": reader, "model": service.model, "here": f"/ui/consumers/{key_id}", "now": service.ledger.now()}
    values |= {"filters": dataclasses.replace(filters, consumer="")}  # it is in the page's own address
    return page("consumer.html", **about, **values, key=found.record, parts=found.quotas, words=quota_words)


async def requests_part(service: Service, filters: Filters) -> dict[str, Any]:
    """What the pages show of requests: over time, by consumer, and the newest."""
    now = service.ledger.now()
    span = filters.span(now)
    chosen = filters.chosen(span)
    (line, newest), (found, count, options) = await asyncio.gather(
        service.read(_requests, service, chosen, span), service.read(_consumers, service, chosen, now)
    )
    return {
        "filters": filters,
        "exports": dataclasses.replace(filters, refresh=""),
        "timeline": line,
        "ranges": tuple(RANGES.values()),
        "newest": newest,
        "found": found,
        "consumers": [consumer_row(one, now) for one in found],
        "consumer_count": count,
        "options": options,
    }


def consumer_row(one: Consumer, now: int) -> ConsumerRow:
    """As a table has it: the quota that is nearest its end."""
    state = one.record.state(now) if one.record else ""
    first = one.quotas[0] if one.quotas else None
    return ConsumerRow(
        id=one.key_id,
        name=one.record.name if one.record else UNKNOWN,
        state="" if state == "active" else state,
        use=one.use,
        quota=quota_words(first) if first else "no quota",
        share=first.share if first else None,
        last_at=one.last_at,
    )


def quota_words(part: QuotaPart) -> str:
    """What is used of a quota.

    Example:
        >>> from privee.gateway.ledger.quotas import Per
        >>> quota_words(QuotaPart("releases", 1200, Per(5000, 86400)))
        '1,200 of 5000/day releases'
    """
    return f"{number(part.used)} of {part.per} {part.what}"


def _requests(service: Service, chosen: Chosen, span: Span) -> tuple[Timeline, list[AskedRow]]:
    with service.ledger.reading() as connection:
        return timeline(span, over_time(connection, chosen, span.starts)), latest(connection, chosen, NEWEST)


def _consumers(service: Service, chosen: Chosen, now: int) -> tuple[list[Consumer], int, list[Option]]:
    keys = service.keys.list()
    options = [Option(key.id, key.name) for key in keys if key.role == "consumer"]
    with service.ledger.reading() as connection:
        found, count = consumers(connection, keys, chosen, now, CONSUMERS)
    return found, count, sorted(options, key=lambda one: (one.name.casefold(), one.id))
