"""A ledger with more and more entities: charges, prices, who is near the limit, and the room it takes.

The ledger is filled by its database, not by charges, or ten million entities would take days: rows with random hashes
go into the real tables in the order of their hashes, each entity with one question, and a request for every ten. What
is measured goes through the ledger itself, on entities that are among them and were not asked for before, as far as
there are enough. Beside each charge a bare transaction of one row by the driver, by turns.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from benchmarks._growth.clock import Clock, Work
from benchmarks._growth.fill import KEY, LIMITS, PRICE, Filled, bare_transaction, begin_log, bytes_of, filled, logged
from benchmarks._shared.cells import Cell
from benchmarks._shared.postgres_server import running_postgres
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Price

KINDS = ("SQLite", "PostgreSQL")
SIZES, GROWN = (1_000, 10_000, 100_000, 1_000_000, 10_000_000), 1_000_000
BATCH, LISTED = 1024, 10
SINGLES, BATCHES, LISTS, WRITTEN = 150, 24, 9, 9


class LedgerCell(Cell):
    """The spec is the database, the seed is the number of its entities."""

    @property
    def key(self) -> str:
        return f"{self.dataset}, {self.spec}, {self.seed:,} entities"

    def measured(self, folder: Path) -> dict[str, Any]:
        with database(self.spec, folder) as place:
            began = time.monotonic()
            url = place.new()
            found = filled(url, self.seed)
            took = time.monotonic() - began
            with Ledger.open(url, KEY, limits=LIMITS) as ledger:
                sizes = {"bytes": bytes_of(ledger)}
                figures = measured(ledger, found, place.clock) | sizes | {"bytes_after": bytes_of(ledger)["all"]}
        return {"entities": self.seed, "fill_seconds": round(took, 1)} | figures | {"load": os.getloadavg()[0]}


class GrownCell(LedgerCell):
    """The room it takes if entities come in any order, as they do."""

    def measured(self, folder: Path) -> dict[str, Any]:
        with database(self.spec, folder) as place:
            url = place.new()
            filled(url, self.seed, order="")
            with Ledger.open(url, KEY, limits=LIMITS) as ledger:
                return {"entities": self.seed, "bytes": bytes_of(ledger)}


class WrittenCell(LedgerCell):
    """Why a charge of many grows: how much of the database each one writes."""

    def measured(self, folder: Path) -> dict[str, Any]:
        with database(self.spec, folder) as place:
            url = place.new()
            found = filled(url, self.seed)
            with Ledger.open(url, KEY, limits=LIMITS) as ledger:
                fresh, written = endless(found.known), []
                for _ in range(WRITTEN):
                    begin_log(ledger)
                    start = logged(ledger)
                    charge(ledger, found, fresh, min(BATCH, len(found.known)))()
                    written.append(logged(ledger) - start)
        return {"entities": self.seed, "written_bytes": statistics.median(written)}


class Place(NamedTuple):
    """Where ledgers can be made: their addresses, and a clock for their work."""

    urls: Iterator[str]
    clock: Clock

    def new(self) -> str:
        return next(self.urls)


@contextlib.contextmanager
def database(kind: str, folder: Path) -> Iterator[Place]:
    """A place for ledgers, gone at the end."""
    if kind == "SQLite":
        try:
            yield Place((f"sqlite:///{folder}/ledger{number}.db" for number in itertools.count()), Clock())
        finally:
            for path in folder.glob("ledger*.db*"):
                path.unlink()
        return
    with running_postgres(durable=True) as server:
        urls = (server.new_database() for _ in itertools.count())
        yield Place(urls, Clock(server._process.pid if server._process else None))


def measured(ledger: Ledger, found: Filled, clock: Clock) -> dict[str, Any]:
    fresh = endless(found.known)
    many = min(BATCH, len(found.known))
    with bare_transaction(ledger) as bare:
        return {
            "near_limit": clock.timed(lambda: lambda: ledger.near_limit(LISTED), LISTS),
            "charge": clock.timed(lambda: charge(ledger, found, fresh, 1), SINGLES, bare),
            "charge_1024": clock.timed(lambda: charge(ledger, found, fresh, many), BATCHES, bare),
            "price": clock.timed(lambda: quote(ledger, fresh, 1), SINGLES),
            "price_1024": clock.timed(lambda: quote(ledger, fresh, many), BATCHES),
            "near_limit_after": clock.timed(lambda: lambda: ledger.near_limit(LISTED), LISTS),
        }


def endless(known: list[str]) -> Iterator[str]:
    """Each once, in any order, before any comes again."""
    draws = random.Random(1)
    while True:
        yield from draws.sample(known, len(known))


def charge(ledger: Ledger, found: Filled, fresh: Iterator[str], count: int, price: Price = PRICE) -> Work:
    entities = different(fresh, count)
    asked = [found.question] * len(entities)
    ask = ChargeRequest(entities, price, "benchmark", uuid4().hex, questions=asked)
    return lambda: ledger.charge(ask)


def quote(ledger: Ledger, fresh: Iterator[str], count: int) -> Work:
    entities = different(fresh, count)
    return lambda: ledger.price(entities, PRICE)


def different(fresh: Iterator[str], count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[next(fresh)] = None
    return list(found)


def cells() -> Iterator[LedgerCell]:
    for entities in SIZES:
        yield from (LedgerCell("ledger", kind, entities) for kind in KINDS)
        yield from (WrittenCell("written", kind, entities) for kind in KINDS)
    yield from (GrownCell("ledger in any order", kind, GROWN) for kind in KINDS)
