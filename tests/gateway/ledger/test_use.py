"""Who asked, when and with what outcome, as auditors read it; in both kinds of database."""

import pytest
import sqlalchemy as sa

from privee.durable.database import connect
from privee.gateway.budget.price import UNIT, Price
from privee.gateway.ledger import opening, use
from privee.gateway.ledger.consumers import consumers, given_to
from privee.gateway.ledger.ledger import Ledger, RefusedError
from privee.gateway.ledger.use import Chosen, Use, by_key, in_total, last_asked, latest, over_time
from privee.gateway.ledger.views import in_order, tagged
from tests._support.ledger_cases import KEY, Time, allow, ask, by, keys_of, new_key

EVER = Chosen(0, 1 << 40)
START = 1_000_000_000


@pytest.fixture
def time():
    return Time(wall=START)


@pytest.fixture
def ledger(url, open_ledger, time):
    return open_ledger(url, allow(releases=3, window=100_000), time.clock())


def refused(ledger, asked) -> None:
    with pytest.raises(RefusedError):
        ledger.charge(asked)


@pytest.mark.parametrize("few", [0, 1, 2])
def test_requests_are_counted_apart_from_releases(ledger, time, few, monkeypatch):
    monkeypatch.setattr(use, "FEW_KEYS", few)  # one by one, or all at once
    ledger.charge(by("one", "a", "b", "c"))
    ledger.charge(by("two", "a", "d", marks="xy"))
    time.elapsed += 60
    ledger.charge(by("two", "a", "d", marks="xz"))  # one of the two is free
    refused(ledger, by("one", "a", "a", "e"))
    with ledger.reading() as connection:
        assert in_total(connection) == Use(answered=3, refused=1, releases=7, charged=6)
        assert in_total(connection).requests == 4
        assert by_key(connection, EVER) == {"one": Use(1, 1, 3, 3), "two": Use(2, 0, 4, 3)}
        assert by_key(connection, Chosen(START, START + 60)) == {"one": Use(1, 0, 3, 3), "two": Use(1, 0, 2, 2)}
        assert by_key(connection, Chosen(0, 1 << 40, outcome="refused")) == {"one": Use(0, 1, 0, 0)}
        assert by_key(connection, Chosen(0, 1 << 40, key_id="nobody")) == {}
        chosen = Chosen(START - 30, START + 61)
        assert over_time(connection, chosen, [START - 30, START + 30, START + 60]) == [
            Use(2, 0, 5, 5),
            Use(),
            Use(1, 1, 2, 1),
        ]
        found = last_asked(connection, ["one", "two", "nobody"])
    assert found == {"one": START + 60, "two": START + 60}


def test_the_newest_requests_can_be_read_in_pieces(ledger, time):
    for second in range(4):
        ledger.charge(by("one", f"a{second}"))
        ledger.charge(by("two", f"b{second}"))  # in the same second
        time.elapsed += 1
    refused(ledger, by("one", *"xxxx"))
    with ledger.reading() as connection:
        whole = latest(connection, EVER, 100)
        assert [one.at for one in whole] == sorted((one.at for one in whole), reverse=True)
        assert len({one.id for one in whole}) == len(whole) == 9
        assert (whole[0].outcome, whole[0].entities, whole[0].releases, whole[0].charged) == ("refused", 4, 0, 0)
        assert whole[0].name is None
        for size in (1, 2, 3):
            pieces, before = [], None
            while piece := latest(connection, EVER, size, before):
                assert len(piece) <= size
                pieces += piece
                before = (piece[-1].at, piece[-1].id)
            assert pieces == whole
        mine = latest(connection, Chosen(0, 1 << 40, "two"), 100)
        assert mine == [one for one in whole if one.key_id == "two"]
        assert latest(connection, Chosen(0, 1 << 40, "one", "refused"), 100) == whole[:1]


def test_consumers_with_their_quotas_and_when_they_last_asked(ledger, time):
    keys = keys_of(ledger)
    auditor = keys.create("z", "auditor", actor="me").record.id
    busy, idle = new_key(ledger, releases="4/hour", entities="2/day"), new_key(ledger, share=0.5)
    ledger.charge(by(busy, "a", "b"))
    ledger.charge(by("0a1b2c3d", "c"))  # somebody removed its key
    time.elapsed += 10
    refused(ledger, by(busy, "c"))
    with ledger.reading() as connection:
        found, count = consumers(connection, keys.list(), EVER, ledger.now())
        first, unknown, last = found
        assert (first.key_id, unknown.key_id, last.key_id, count) == (busy, "0a1b2c3d", idle, 3)
        assert (first.use, unknown.use, last.use) == (Use(1, 1, 2, 2), Use(1, 0, 1, 1), Use())
        assert [(part.what, part.used, str(part.per), part.share) for part in first.quotas] == [
            ("entities", 2, "2/day", 1.0),
            ("releases", 2, "4/hour", 0.5),
        ]
        assert (unknown.record, unknown.quotas, last.quotas) == (None, (), ())
        assert [one.last_at for one in found] == [START + 10, START, None]
        few = consumers(connection, keys.list(), EVER, ledger.now(), most=1)
        assert few == ([first], 3)
        for key_id, ids in ((busy, [busy]), ("0a1b2c3d", ["0a1b2c3d"]), (auditor, []), ("ffffffff", [])):
            chosen = Chosen(5, 6, key_id)  # nothing was asked then
            assert [one.key_id for one in consumers(connection, keys.list(), chosen, START)[0]] == ids
    time.elapsed += 3600
    with ledger.reading() as connection:
        (first, *_), _ = consumers(connection, keys.list(), EVER, ledger.now())
    assert [(part.what, part.used) for part in first.quotas] == [("entities", 2), ("releases", 0)]  # an hour is over


def test_entities_by_tag_and_to_whom_they_gave(ledger, time):
    key = new_key(ledger, entities="100/day")
    ledger.charge(by(key, "a", "a", "b"))
    ledger.charge(by("other", "b"))
    tags = {name: ledger.spent(name).tag for name in ("a", "b")}
    with ledger.reading() as connection:
        (found,) = tagged(connection, ledger.limits, tags["a"], ledger.now())
        assert found == ledger.spent("a")
        assert tagged(connection, ledger.limits, "0" * 12, ledger.now()) == []
        (given,) = given_to(connection, ledger.limits, tags["b"], ledger.now())
        assert given == (tags["b"], key, "n", 1, START)  # what the other key got is not written down
        pieces, after = [], b""
        while piece := in_order(connection, ledger.limits, 1, ledger.now(), after):
            pieces += piece
            after = piece[-1].entity
        assert [one.spending.tag for one in pieces] == sorted(tags.values())
        time.elapsed += 100_000  # the window is over
        (given,) = given_to(connection, ledger.limits, tags["b"], ledger.now())
        assert (given.releases, given.last_at) == (0, START)


def test_what_remains_is_one_number_the_fewest_left_to_any(ledger):
    ledger.charge(ask("a", "a"))
    assert ledger.charge(ask("b", "c")).remaining == 2
    assert ledger.charge(ask("a", "b")).remaining == 0


def test_what_remains_is_never_too_much(sqlite_url, open_ledger):
    """Of entities with different pasts it is what one with the highest sums of all could give: at most the fewest."""
    ledger = open_ledger(sqlite_url, allow(epsilon=10 * UNIT, delta=1e-6))
    small, large = Price.of_epsilon(0.01), Price.of_epsilon(2)
    ledger.charge(ask(*["often"] * 800, price=small))
    ledger.charge(ask("once", price=large))
    alone = [ledger.price([name], small).remaining for name in ("often", "once")]
    assert 0 < ledger.price(["often", "once"], small).remaining < min(alone)


def test_no_question_looks_at_every_request(sqlite_url, open_ledger):
    """SQLite tells how it would answer: sums from an index that holds all they need, rows by an index."""
    ledger, plans = open_ledger(sqlite_url), []
    ledger.charge(ask("a"))

    def explain(connection, cursor, statement, parameters, *_) -> None:
        if "releases" in statement:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.append("; ".join(row[3] for row in cursor.fetchall() if "releases" in row[3]))

    sa.event.listen(ledger.engine, "before_cursor_execute", explain)
    with ledger.reading() as connection:
        for chosen in (Chosen(5, 9), Chosen(5, 9, outcome="refused")):
            over_time(connection, chosen, [5, 7])
            assert plans == ["SEARCH releases USING COVERING INDEX releases_by_time (at>? AND at<?)"] * 2
            plans.clear()
            by_key(connection, chosen)
            found = [plan.removeprefix("SEARCH releases USING COVERING INDEX releases_by_key ") for plan in plans]
            assert found == ["(key_id>?)", "(key_id>?)", "(key_id=? AND at>? AND at<?)"]
            plans.clear()
            latest(connection, chosen, 10, (7, "x"))
            assert all(plan.startswith("SEARCH releases USING") and "releases_by_time" in plan for plan in plans)
            plans.clear()
        mine = Chosen(5, 9, "one")
        over_time(connection, mine, [5])
        by_key(connection, mine)
        last_asked(connection, ["one"])
        latest(connection, mine, 10)
        assert len(plans) == 4
        assert all("COVERING INDEX releases_by_key (key_id=?" in plan for plan in plans), plans


def test_a_ledger_of_the_version_before_gets_the_indexes_and_keeps_its_counts(url, open_ledger, tmp_path):
    ledger = open_ledger(url)
    ledger.charge(ask("a", "b"))
    ledger.close()
    engine = connect(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX releases_by_key")
        connection.exec_driver_sql("DROP INDEX releases_by_time")
        connection.exec_driver_sql("CREATE INDEX releases_by_time ON releases (at)")
        for name in ("spending_by_releases", "spending_by_epsilon"):
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
        connection.exec_driver_sql("DROP TABLE questions")
        connection.exec_driver_sql("DROP TABLE party_calls")
        connection.exec_driver_sql("ALTER TABLE spending DROP COLUMN variants")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0002'")
    Ledger.upgrade(url)
    with engine.connect() as connection:
        found = {index["name"]: index["column_names"] for index in sa.inspect(connection).get_indexes("releases")}
        assert opening.current(connection) == opening.head()
    engine.dispose()
    counted = ["outcome", "entities", "charged"]
    assert found == {"releases_by_time": ["at", "key_id", *counted], "releases_by_key": ["key_id", "at", *counted]}
    with Ledger.open(url, KEY, limits=allow(releases=3)) as again, again.reading() as connection:
        assert in_total(connection) == Use(1, 0, 2, 2)
