"""Ledgers filled by their database: the real tables, with rows that nobody was charged for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privee.durable.secrets import hash_entities, hash_questions
from privee.gateway.budget.price import UNIT
from privee.gateway.budget.releases import Releases
from privee.gateway.budget.total_epsilon_basic import TotalEpsilonBasic
from privee.gateway.ledger.ledger import Ledger, Limits, Price

KEY = b"benchmark" * 4
LIMITS = Limits((Releases(100), TotalEpsilonBasic(60 * UNIT)), variants=1)
PRICE = Price.of_epsilon(0.01)
NOW, KNOWN = 1_700_000_000, 40_000
SPENT = f"1 + i % 90, (1 + i % 90) * {{spends}}, 0, 0, {NOW}, 1 + i % 90, (1 + i % 90) * {{spends}}, 1"
"""Releases and epsilons spread evenly up to nine tenths of the limit."""
REQUEST = "{id}, {first} + i, '0000000' || i % 9, 10, 10, 'released'"


@dataclasses.dataclass(frozen=True)
class Filled:
    """Ids that are in a ledger, and the question that each was asked."""

    known: list[str]
    question: bytes = b"own columns"


def filled(url: str, entities: int, *, spends: int = UNIT // 2, order: str = "ORDER BY 1") -> Filled:
    """Make a ledger.

    Args:
        url: of the database.
        entities: in it.
        spends: epsilon of a release, in trillionths.
        order: of the rows; "" has them in any order, as charges come.
    """
    Ledger.create(url, KEY)
    found = Filled([f"entity {number}" for number in range(min(entities, KNOWN))])
    with Ledger.open(url, KEY, limits=LIMITS) as ledger:
        connection: Any = ledger.engine.raw_connection()
        fill = _fill_sqlite if ledger.engine.dialect.name == "sqlite" else _fill_postgresql
        fill(connection, entities - len(found.known), SPENT.format(spends=spends), order)
        _add_known(ledger, connection, found, spends)
        connection.close()
        settle(ledger)
    return found


def _fill_sqlite(connection: Any, entities: int, spent: str, order: str) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA cache_size = -1000000")
    cursor.execute("BEGIN")
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"
    if entities:
        rows = f"SELECT randomblob(32), {spent} FROM n {order}"  # noqa: S608 - ours
        cursor.execute(f"{numbers.format(entities)} INSERT INTO spending {rows}")
    again = "" if order else "ORDER BY random()"  # the table is read in the order of its hashes
    cursor.execute(f"INSERT INTO questions SELECT entity, randomblob(32) FROM spending {again}")  # noqa: S608
    requests = REQUEST.format(id="lower(hex(randomblob(16)))", first=NOW - entities)
    cursor.execute(f"{numbers.format(entities // 10 + 1)} INSERT INTO releases SELECT {requests} FROM n")  # noqa: S608
    cursor.execute("COMMIT")
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _fill_postgresql(connection: Any, entities: int, spent: str, order: str) -> None:
    cursor = connection.cursor()
    cursor.execute("SET work_mem = '256MB'")
    rows = f"SELECT sha256(i::text::bytea) AS entity, i FROM generate_series(1, {entities}) AS i {order}"  # noqa: S608
    cursor.execute(f"INSERT INTO spending SELECT entity, {spent} FROM ({rows}) AS drawn")  # noqa: S608 - ours
    cursor.execute("INSERT INTO questions SELECT entity, sha256(entity) FROM spending")  # read as it was filled
    requests = REQUEST.format(id="md5(i::text)", first=NOW - entities)
    numbers = f"generate_series(1, {entities // 10 + 1}) AS i"
    cursor.execute(f"INSERT INTO releases SELECT {requests} FROM {numbers}")  # noqa: S608 - ours
    cursor.execute("RESET work_mem")
    connection.commit()


def _add_known(ledger: Ledger, connection: Any, found: Filled, spends: int) -> None:
    """Entities that can be asked for by an id; their hashes are spread over all others."""
    hashes = hash_entities(ledger.keys.entities, found.known)
    asked = hash_questions(ledger.keys.questions, hashes, [found.question] * len(hashes))
    used = [1 + number % 40 for number in range(len(hashes))]
    rows = [(one, n, n * spends, 0, 0, NOW, n, n * spends, 1) for one, n in zip(hashes, used, strict=True)]
    cursor = connection.cursor()
    for table, lines in (("spending", rows), ("questions", list(zip(hashes, asked, strict=True)))):
        if ledger.engine.dialect.name == "sqlite":
            cursor.execute("BEGIN")
            marks = ", ".join("?" * len(lines[0]))
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", lines)  # noqa: S608 - ours
        else:
            with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                for line in lines:
                    copy.write_row(line)
        connection.commit()


def settle(ledger: Ledger) -> None:
    """What the server does by itself in time."""
    if ledger.engine.dialect.name == "sqlite":
        return
    with ledger.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")
        connection.exec_driver_sql("CHECKPOINT")


def bytes_of(ledger: Ledger) -> dict[str, int]:
    """The whole ledger on disk; PostgreSQL's without what every empty database has, by tables and indexes."""
    if ledger.engine.dialect.name == "sqlite":
        path = Path(str(ledger.engine.url.database))
        return {"all": sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))}
    named = (
        "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relname LIKE 'spending%%' OR relname LIKE 'que%%'"
    )
    with ledger.reading() as connection:
        sizes = {name: size for name, size in connection.exec_driver_sql(named).fetchall() if size}
        tables = "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 2200"
        return {"all": int(connection.exec_driver_sql(tables).scalar() or 0)} | sizes


def begin_log(ledger: Ledger) -> None:
    """SQLite's log from its start; PostgreSQL's goes on."""
    if ledger.engine.dialect.name == "sqlite":
        connection: Any = ledger.engine.raw_connection()
        connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()


def logged(ledger: Ledger) -> float:
    """Bytes that the database has written ahead so far."""
    if ledger.engine.dialect.name == "sqlite":
        return Path(f"{ledger.engine.url.database}-wal").stat().st_size
    with ledger.reading() as connection:
        asked = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
        return float(connection.exec_driver_sql(asked).scalar() or 0)


@contextmanager
def bare_transaction(ledger: Ledger) -> Iterator[Callable[[], None]]:
    """The least that a durable count costs: one row, one commit, by the driver itself."""
    connection: Any = ledger.engine.raw_connection()
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE IF NOT EXISTS bare (one INTEGER)")
    cursor.execute("INSERT INTO bare VALUES (0)")
    connection.commit()

    def run() -> None:
        if ledger.engine.dialect.name == "sqlite":
            cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("UPDATE bare SET one = one + 1")
        connection.commit()

    yield run
    connection.close()
