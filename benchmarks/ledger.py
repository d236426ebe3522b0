"""How fast the ledger charges, with every charge on disk before it counts.

    python benchmarks/ledger.py            prints the table and stores benchmarks/results/ledger.json

One ask at a time, and 8 or 64 asks that share one wait for the disk; 1, 32 or 1024 entities in an ask, out of 100,000
that have spent something already. Beside each: a bare `sqlite3` transaction that writes one row, or PostgreSQL's own
of one row, measured by turns in the same run, so that a busy machine or a slow disk slows both. The lowest 5 %
show what it takes where nothing else runs; the load of the machine is stored too.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import sqlalchemy
from rich.console import Console
from rich.table import Table

import privee
from privee.gateway.budget.price import UNIT
from privee.gateway.budget.releases import Releases
from privee.gateway.budget.total_epsilon_advanced import TotalEpsilonAdvanced
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Limits, Price

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._growth.fill import bare_transaction
from benchmarks._shared.postgres_server import running_postgres

RESULTS = Path(__file__).parent / "results" / "ledger.json"
KEY = b"benchmark" * 4
KNOWN = 100_000
SECONDS = 2.0
LIMITS = Limits((Releases(10**9), TotalEpsilonAdvanced(10**6 * UNIT, delta=1e-6)))
PRICE = Price.of_epsilon(0.5)


def made_ask(entities: int) -> ChargeRequest:
    return ChargeRequest([str(random.randrange(KNOWN)) for _ in range(entities)], PRICE, "benchmark", uuid4().hex)


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def measure_case(ledger: Ledger, bare: Callable[[], None], together: int, entities: int) -> dict[str, float]:
    charges, bares, end = [], [], time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(charges) < 5:
        asks = [made_ask(entities) for _ in range(together)]
        charges.append(milliseconds(lambda asks=asks: ledger.charge_many(asks)))
        bares.append(milliseconds(bare))
    median = statistics.median(charges)
    return {
        "together": together,
        "entities": entities,
        "ms": median,
        "ms_5": statistics.quantiles(charges, n=20, method="inclusive")[0],
        "ms_95": statistics.quantiles(charges, n=20, method="inclusive")[-1],
        "asks_per_second": 1e3 * together / median,
        "entities_per_second": 1e3 * together * entities / median,
        "bare_ms": statistics.median(bares),
        "bare_ms_5": statistics.quantiles(bares, n=20, method="inclusive")[0],
    }


def measure_database(name: str, url: str) -> list[dict[str, object]]:
    Ledger.create(url, KEY)
    with Ledger.open(url, KEY, limits=LIMITS) as ledger, bare_transaction(ledger) as bare:
        for start in range(0, KNOWN, 5000):
            known = [str(number) for number in range(start, start + 5000)]
            ledger.charge(ChargeRequest(known, PRICE, "benchmark", uuid4().hex))
        cases = [(together, entities) for together in (1, 8, 64) for entities in (1, 32, 1024)]
        rows = [{"database": name} | measure_case(ledger, bare, *case) for case in cases]
        quoted = [milliseconds(lambda: ledger.price([str(random.randrange(KNOWN))], PRICE)) for _ in range(300)]
        near = [milliseconds(lambda: ledger.near_limit(20)) for _ in range(3)]
    return [*rows, {"database": name, "price_ms": statistics.median(quoted), "near_limit_ms": statistics.median(near)}]


def measure() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, running_postgres(durable=True) as server:
        urls = {"SQLite": f"sqlite:///{folder}/ledger.db", "PostgreSQL": server.new_database()}
        rows = [row for name, url in urls.items() for row in measure_database(name, url)]
    versions = {"python": platform.python_version(), "sqlalchemy": sqlalchemy.__version__, "privee": privee.__version__}
    charges, reads = ([row for row in rows if ("ms" in row) == charge] for charge in (True, False))
    machine = {"processors": os.cpu_count(), "load": os.getloadavg()[0]}
    return {"versions": versions, "machine": machine, "known_entities": KNOWN, "charges": charges, "reads": reads}


def show(results: dict[str, object]) -> None:
    columns = (
        "database",
        "asks together",
        "entities each",
        "median ms",
        "5-95 %",
        "asks/s",
        "entities/s",
        "bare ms (5 %)",
    )
    table = Table(*columns, title="Durable charges: asks that go together, entities in each")
    for row in results["charges"]:
        rates = (f"{row['asks_per_second']:,.0f}", f"{row['entities_per_second']:,.0f}")
        times = (f"{row['ms']:.2f}", f"{row['ms_5']:.1f}-{row['ms_95']:.1f}")
        table.add_row(
            row["database"],
            str(row["together"]),
            str(row["entities"]),
            *times,
            *rates,
            f"{row['bare_ms']:.2f}, {row['bare_ms_5']:.2f}",
        )
    Console(width=110).print(table)
    for row in results["reads"]:
        print(f"{row['database']}: price {row['price_ms']:.2f} ms, near_limit {row['near_limit_ms']:.0f} ms")


if __name__ == "__main__":
    measured = measure()
    show(measured)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(measured, indent=1) + "\n")
