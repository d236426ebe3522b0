"""What the indexes for those near their limit give, and what they cost a charge: ledgers with and without, by turns.

SQLite's ledger has no such index; here one ledger gets them by hand, to show why. `before` is the question as it was
asked while there was none.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks._growth.clock import Clock, Work, lowest, milliseconds
from benchmarks._growth.fill import KEY, LIMITS, PRICE, Filled, filled, logged, settle
from benchmarks._growth.ledger import BATCH, KINDS, LISTED, LISTS, LedgerCell, charge, database, endless
from privee.gateway.budget.price import UNIT
from privee.gateway.ledger.ledger import Ledger, Price

SIZE, SINGLES, BATCHES = 1_000_000, 200, 40
NAMES = {"spending_by_releases": "(releases)", "spending_by_epsilon": "(epsilon) WHERE epsilon > 0"}
SHARES = "CAST(releases AS DOUBLE PRECISION) / 100", "CAST(epsilon AS DOUBLE PRECISION) / 60000000000000"
BEFORE = (
    "SELECT * FROM spending WHERE releases > 0 "  # noqa: S608 - ours
    f"ORDER BY CASE WHEN {SHARES[0]} > {SHARES[1]} THEN {SHARES[0]} ELSE {SHARES[1]} END DESC, entity LIMIT {LISTED}"
)
PRICES = {"index": PRICE, "index without epsilon": Price()}
"""By the name of the cell. Without epsilons the second index is empty."""


class IndexCell(LedgerCell):
    """Two ledgers in one place."""

    def measured(self, folder: Path) -> dict[str, Any]:
        price = PRICES[self.dataset]
        with database(self.spec, folder) as place, ExitStack() as stack:
            ledgers = {}
            for indexed in (False, True):
                url = place.new()
                found = filled(url, self.seed, spends=UNIT // 2 * (price.epsilon > 0))
                ledger = stack.enter_context(Ledger.open(url, KEY, limits=LIMITS))
                making = arrange(ledger, indexed=indexed)
                ledgers["with" if indexed else "without"] = ledger
            asked = {name: listing(ledger, place.clock) for name, ledger in ledgers.items()}
            asked["before"] = listing(ledgers["without"], place.clock, before)
            charges = compared(ledgers, found, price, place.clock)
        about = {"entities": self.seed, "making_seconds": making, "near_limit": asked, "charges": charges}
        return about | {"load": os.getloadavg()[0]}


def arrange(ledger: Ledger, *, indexed: bool) -> float:
    """Have the indexes or not; seconds that making them takes."""
    with ledger.engine.begin() as connection:
        for name in NAMES:
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
        began = time.monotonic()
        for name, what in NAMES.items() if indexed else ():
            connection.exec_driver_sql(f"CREATE INDEX {name} ON spending {what}")
        seconds = time.monotonic() - began
    settle(ledger)
    return seconds


def before(ledger: Ledger) -> object:
    with ledger.reading() as connection:
        return connection.exec_driver_sql(BEFORE).fetchall()


def listing(ledger: Ledger, clock: Clock, ask: Callable[[Ledger], object] | None = None) -> dict[str, float]:
    work: Work = (lambda: ask(ledger)) if ask else (lambda: ledger.near_limit(LISTED))
    return clock.timed(lambda: work, LISTS)


def compared(ledgers: dict[str, Ledger], found: Filled, price: Price, clock: Clock) -> list[dict[str, Any]]:
    fresh, rows = endless(found.known), []
    log = logged if clock.server else lambda ledger: 0.0  # SQLite's log begins anew in between
    for count, times in ((1, SINGLES), (BATCH, BATCHES)):
        took: dict[str, list[float]] = {name: [] for name in ledgers}
        spent = {name: [0.0, 0.0] for name in ledgers}
        for _ in range(times):
            for name in random.sample(list(ledgers), 2):
                work, start = charge(ledgers[name], found, fresh, count, price), log(ledgers[name])
                began = clock.cpu()
                took[name].append(milliseconds(work))
                spent[name][0] += 1e3 * (clock.cpu() - began) / times
                spent[name][1] += (log(ledgers[name]) - start) / times
        ratio = statistics.median(a / b for a, b in zip(took["with"], took["without"], strict=True))
        figures = {
            name: {"ms": statistics.median(ms), "ms_5": lowest(ms), "cpu_ms": spent[name][0], "logged": spent[name][1]}
            for name, ms in took.items()
        }
        rows.append({"entities": count, "ratio": ratio} | figures)
    return rows


def cells() -> Iterator[IndexCell]:
    yield from (IndexCell("index", kind, SIZE) for kind in reversed(KINDS))
    yield IndexCell("index without epsilon", "PostgreSQL", SIZE)
