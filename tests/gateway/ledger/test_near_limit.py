"""The entities near their limit: the right ones, found by an index where there is one, in older ledgers too."""

import random

import pytest
import sqlalchemy as sa

from privee.durable.database import connect
from privee.errors import PriveeError
from privee.gateway.budget.price import UNIT
from privee.gateway.ledger import opening
from privee.gateway.ledger.ledger import Ledger, Price
from tests._support.ledger_cases import KEY, Time, allow, ask

INDEXES = ["spending_by_epsilon", "spending_by_releases"]


def indexes_of(url: str) -> list[str]:
    engine = connect(url)
    with engine.connect() as connection:
        found = sorted(index["name"] for index in sa.inspect(connection).get_indexes("spending"))
    engine.dispose()
    return found


@pytest.mark.parametrize("window", [None, 500])
def test_those_with_the_highest_share_by_any_limit_are_listed(url, open_ledger, window):
    """Each entity by the limit that it is nearest to; those whose window is over have spent nothing."""
    time, draws = Time(wall=1_000_000_000), random.Random(7)
    ledger = open_ledger(url, allow(releases=40, epsilon=8 * UNIT, window=window), time.clock())
    names = [f"e{number}" for number in range(60)]
    for _ in range(40):
        time.elapsed += 20
        price = Price.of_epsilon(draws.choice((0.01, 0.05, 0.3)))
        ledger.charge_many([ask(*draws.sample(names[:45], 6), price=price), ask(draws.choice(names[45:]))])
    everyone = sorted((ledger.spent(name) for name in names), key=lambda one: (-one.share, one.tag))
    assert 0 < everyone[10].share < 1
    for count in (1, 10, 30):
        found = ledger.near_limit(count)
        assert [one.share for one in found] == [one.share for one in everyone[:count] if one.share > 0]
        assert found == [one for shown in found for one in everyone if one.tag == shown.tag]
    most = {"releases": 40, "epsilon": 8}
    by_which = {max(most, key=lambda name: one.spent[name] / most[name]) for one in found}
    assert by_which == {"releases", "epsilon"}  # neither counter alone would have found them


def test_postgresql_reads_them_from_an_index(postgres_url, open_ledger):
    Ledger.create(postgres_url, KEY)
    ledger, plans = open_ledger(postgres_url, allow(releases=100, epsilon=90 * UNIT, window=1000)), []
    with ledger.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(
            "INSERT INTO spending SELECT sha256(i::text::bytea), mod(i, 90), mod(i, 90), 0, 0, 2000000000, 1, 0, 0 "
            "FROM generate_series(1, 20000) AS i"
        )
        connection.exec_driver_sql("ANALYZE spending")

    def explain(connection, cursor, statement, parameters, *_) -> None:
        if "FROM spending" in statement:
            cursor.execute(f"EXPLAIN {statement}", parameters)
            plans.append("; ".join(row[0] for row in cursor.fetchall()))

    sa.event.listen(ledger.engine, "before_cursor_execute", explain)
    for _ in range(8):  # a driver that has asked five times lets the server keep its plan
        assert len(ledger.near_limit(10)) == 10
    assert len(plans) == 16
    for plan, index in zip(plans, ["spending_by_releases", "spending_by_epsilon"] * 8, strict=True):
        assert f"Index Scan Backward using {index}" in plan
        assert "Seq Scan" not in plan


def test_a_ledger_of_the_version_before_gets_the_indexes_and_keeps_its_counts(url, open_ledger):
    ledger = open_ledger(url, allow(releases=4))
    ledger.charge(ask("a", "b", "a"))
    ledger.close()
    wanted = [] if url.startswith("sqlite") else INDEXES
    assert indexes_of(url) == wanted
    engine = connect(url)
    with engine.begin() as connection:
        for name in wanted:
            connection.exec_driver_sql(f"DROP INDEX {name}")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0005'")
    engine.dispose()
    with pytest.raises(PriveeError, match="run privee ledger upgrade"):
        open_ledger(url)
    Ledger.upgrade(url)
    assert indexes_of(url) == wanted
    again = open_ledger(url, allow(releases=4))
    with again.reading() as connection:
        assert opening.current(connection) == opening.head() == "0006"
    assert [one.spent["releases"] for one in again.near_limit(10)] == [2, 1]
    assert again.charge(ask("a", "b")).remaining == 1
