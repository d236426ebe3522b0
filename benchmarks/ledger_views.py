"""How long auditors wait for the dashboard's questions on a ledger of a million requests and a million entities.

    python benchmarks/ledger_views.py      prints the table and stores benchmarks/results/ledger_views.json

Requests of 40 keys spread over 30 days. Each question is asked five times, and the median counts. What a charge costs
is measured with the indexes that the questions need and without them, by turns in the same run.
"""

from __future__ import annotations

import json
import os
import platform
import random
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from rich.console import Console
from rich.table import Table

import privee
from privee.gateway.budget.releases import Releases
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Limits, Price
from privee.gateway.ledger.use import Chosen, by_key, in_total, last_asked, latest, over_time
from privee.gateway.ledger.views import in_order, tagged

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._shared.postgres_server import running_postgres

RESULTS = Path(__file__).parent / "results" / "ledger_views.json"
KEY = b"benchmark" * 4
ROWS, KEYS, DAY, NOW = 1_000_000, 40, 86_400, 1_800_000_000
LIMITS = Limits((Releases(100),))
WITH = (
    "CREATE INDEX releases_by_key ON releases (key_id, at, outcome, entities, charged)",
    "CREATE INDEX releases_by_time ON releases (at, key_id, outcome, entities, charged)",
)
WITHOUT = ("CREATE INDEX releases_by_time ON releases (at)",)
MONTH, TODAY = Chosen(NOW - 30 * DAY, NOW + 1), Chosen(NOW - DAY, NOW + 1)
MINE, NOBODYS = (Chosen(MONTH.since, MONTH.until, key_id) for key_id in ("00000005", "ffffffff"))
QUESTIONS: dict[str, Callable[[sa.Connection], Any]] = {
    "over time, 24 hours": lambda db: over_time(db, TODAY, range(TODAY.since, TODAY.until, 3600)),
    "over time, 30 days": lambda db: over_time(db, MONTH, range(MONTH.since, MONTH.until, DAY)),
    "over time, 30 days, one key": lambda db: over_time(db, MINE, range(MONTH.since, MONTH.until, DAY)),
    "by key, 24 hours": lambda db: by_key(db, TODAY),
    "by key, 30 days": lambda db: by_key(db, MONTH),
    "totals": in_total,
    "newest requests": lambda db: latest(db, MONTH, 10),
    "newest requests of a key without any": lambda db: latest(db, NOBODYS, 10),
    "last request of 40 keys": lambda db: last_asked(db, [f"{key:08x}" for key in range(KEYS)]),
    "5,000 requests of a file": lambda db: latest(db, MONTH, 5000, (NOW - 9 * DAY, "8")),
    "5,000 entities of a file": lambda db: in_order(db, LIMITS, 5000, NOW, b"\x80"),
    "one entity by its tag": lambda db: tagged(db, LIMITS, "0123456789ab", NOW),
}


def requests() -> Iterator[tuple[str, int, str, int, int, str]]:
    draws = random.Random(1)
    keys = draws.choices(range(KEYS), [1 / (key + 1) for key in range(KEYS)], k=ROWS)
    for number, key in enumerate(keys):
        entities, refused = draws.choice((1, 1, 1, 8, 32)), draws.random() < 0.03
        at = NOW - 30 * DAY + 30 * DAY * number // ROWS
        outcome = "refused" if refused else "released"
        yield secrets.token_hex(16), at, f"{key:08x}", entities, 0 if refused else entities, outcome


def entities() -> Iterator[tuple[bytes, int, int, int, int, int, int, int, int]]:
    for number in range(ROWS):
        yield os.urandom(32), 1 + number % 90, 0, 0, 0, NOW, 100, 0, 1


def fill(ledger: Ledger) -> None:
    embedded = ledger.engine.dialect.name == "sqlite"
    connection: Any = ledger.engine.raw_connection()
    cursor = connection.cursor()
    if embedded:
        cursor.execute("BEGIN")
    for table, rows in (("releases", requests()), ("spending", entities())):
        if embedded:
            marks = ", ".join("?" * (6 if table == "releases" else 9))
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - ours
            continue
        with cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    connection.commit()
    connection.close()


def arrange(ledger: Ledger, statements: tuple[str, ...]) -> None:
    with ledger.engine.begin() as connection:
        for name in ("releases_by_key", "releases_by_time"):
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
        for statement in statements:
            connection.exec_driver_sql(statement)


def median(work: Callable[[], object], times: int = 5) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(1e3 * (time.perf_counter() - start))
    return statistics.median(found)


def ask(ledger: Ledger, work: Callable[[sa.Connection], Any]) -> float:
    with ledger.reading() as connection:
        return median(lambda: work(connection))


def charge(ledger: Ledger) -> float:
    def work() -> None:
        ledger.charge(ChargeRequest([uuid4().hex], Price(), "00000001", uuid4().hex))

    return median(work, 300)


def measure_database(name: str, url: str) -> list[dict[str, object]]:
    Ledger.create(url, KEY)
    with Ledger.open(url, KEY, limits=LIMITS) as ledger:
        fill(ledger)
        if ledger.engine.dialect.name != "sqlite":
            with ledger.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql("VACUUM ANALYZE")  # as the server does by itself in time
        found = {what: ask(ledger, work) for what, work in QUESTIONS.items()}
        found["entities near their limit"] = median(lambda: ledger.near_limit(10))
        turns: dict[str, list[float]] = {"a charge": [], "a charge without these indexes": []}
        for _ in range(3):
            for what, statements in zip(turns, (WITH, WITHOUT), strict=True):
                arrange(ledger, statements)
                turns[what].append(charge(ledger))
    found |= {what: statistics.median(ms) for what, ms in turns.items()}
    return [{"database": name, "what": what, "ms": ms} for what, ms in found.items()]


def measure() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, running_postgres(durable=True) as server:
        urls = {"SQLite": f"sqlite:///{folder}/ledger.db", "PostgreSQL": server.new_database()}
        rows = [row for name, url in urls.items() for row in measure_database(name, url)]
    versions = {"python": platform.python_version(), "sqlalchemy": sa.__version__, "privee": privee.__version__}
    machine = {"processors": os.cpu_count(), "load": os.getloadavg()[0]}
    return {"versions": versions, "machine": machine, "requests": ROWS, "entities": ROWS, "questions": rows}


def show(results: dict[str, Any]) -> None:
    table = Table("database", "question", "ms", title=f"{ROWS:,} requests, {ROWS:,} entities")
    for row in results["questions"]:
        table.add_row(row["database"], row["what"], f"{row['ms']:.1f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    measured = measure()
    show(measured)
    RESULTS.write_text(json.dumps(measured, indent=1) + "\n")
