"""The ledger's count: exact under threads, processes, crashes, lost connections, full disks and moved clocks."""

import itertools
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privee import GaussianNoise, OrderedDP, PriveeU, RankingOnly
from privee.errors import PriveeError
from privee.gateway.ledger import audit_chain, connections, migrate
from privee.gateway.ledger import engine as engine_settings
from privee.gateway.ledger.clock import SteadyClock
from privee.gateway.ledger.counting import Counting
from privee.gateway.ledger.engine import connect
from privee.gateway.ledger.ledger import Ask, Ledger, LedgerUnavailable, Limits, Price, Receipt, Refused
from privee.gateway.ledger.limits import CAP, NOTHING, UNIT, fits, limits_for, remaining
from privee.gateway.ledger.schema import metadata
from privee.theory import composed_epsilon
from tests.postgres_server import postgres, postgres_url  # noqa: F401 - fixtures

KEY = b"k" * 32
FIFTY = Limits(releases=50)
ONE = Price()


def ask(*entities: str, price: Price = ONE, marks: str | None = None) -> Ask:
    """`marks`: one letter per entity, in place of its fingerprint."""
    fingerprints = None if marks is None else [mark.encode() * 32 for mark in marks]
    return Ask(entities, price, "key", uuid4().hex, fingerprints)


def releases(ledger: Ledger, *entities: str) -> list[float]:
    return [ledger.spent(entity).spent["releases"] for entity in entities]


class Time:
    """A wall clock and a steady one, both moved by hand."""

    def __init__(self, wall: float = 1e9, elapsed: float = 50.0) -> None:
        self.wall, self.elapsed = wall, elapsed

    def clock(self) -> SteadyClock:
        return SteadyClock(wall=lambda: self.wall, elapsed=lambda: self.elapsed)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    address = f"sqlite:///{tmp_path / 'l.db'}" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    Ledger.create(address, KEY)
    return address


@pytest.fixture
def sqlite_url(tmp_path):
    Ledger.create(f"sqlite:///{tmp_path / 'l.db'}", KEY)
    return f"sqlite:///{tmp_path / 'l.db'}"


@pytest.fixture
def open_ledger():
    """Opens ledgers and closes them at the end."""
    opened = []

    def opener(url, limits=FIFTY, clock=None):
        opened.append(Ledger.open(url, KEY, limits=limits, clock=clock))
        return opened[-1]

    yield opener
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(url, open_ledger):
    return open_ledger(url)


# Counting


def test_a_charge_is_counted_and_refused_at_the_limit(url, open_ledger):
    ledger = open_ledger(url, Limits(releases=3))
    first = ask("a", "b", "a")
    assert ledger.charge(first) == Receipt(first.release_id, charged=3, remaining=1)
    assert releases(ledger, "a", "b", "c") == [2, 1, 0]
    with pytest.raises(Refused) as refused:
        ledger.charge(ask("b", "a", "c", "a"))
    assert refused.value.positions == (1, 3)
    assert (refused.value.asked, refused.value.spent, refused.value.limit) == (
        {"releases": 2},
        {"releases": 2},
        {"releases": 3},
    )
    assert "asked releases 2; spent releases 2; limit releases 3" in str(refused.value)
    assert releases(ledger, "a", "b", "c") == [2, 1, 0]
    with pytest.raises(Refused):  # a new entity is not a way around the limit
        ledger.charge(ask(*["new"] * 4))
    assert releases(ledger, "new") == [0]
    assert ledger.charge(ask()).remaining is None


def test_price_says_beforehand_what_charge_would(url, open_ledger):
    ledger = open_ledger(url, Limits(releases=2))
    ledger.charge(ask("a"))
    quote = ledger.price(["a", "b"], ONE)
    assert (quote.allowed, quote.asked, quote.spent, quote.remaining) == (True, {"releases": 1}, {"releases": 1}, 1)
    quote = ledger.price(["b", "a", "a"], ONE)
    assert (quote.allowed, quote.positions, quote.asked, quote.remaining) == (False, (1, 2), {"releases": 2}, 1)
    with pytest.raises(Refused):
        quote.check()
    assert ledger.refuse(ask("a", "a")).positions == (0, 1)
    assert ledger.refuse(ask("a")) is None
    assert releases(ledger, "a", "b") == [1, 0]
    assert (ledger.totals().releases, ledger.totals().refusals) == (1, 1)


def test_a_batch_is_charged_whole_or_not_at_all_across_statements(ledger):
    many = [f"e{number}" for number in range(1100)]
    ledger.charge(ask(*["e1050"] * 50))
    with pytest.raises(Refused) as refused:
        ledger.charge(ask(*many))
    assert refused.value.positions == (1050,)
    assert releases(ledger, "e0", "e600", "e1050", "e1099") == [0, 0, 50, 0]
    assert ledger.charge(ask(*many[:1050])).charged == 1050
    assert releases(ledger, "e0", "e600", "e1050") == [1, 1, 50]


def test_asks_that_go_together_are_charged_or_refused_one_by_one(url, open_ledger):
    ledger = open_ledger(url, Limits(releases=5))
    group = [ask("a"), ask("b", "c"), *[ask("a", "d") for _ in range(6)], ask("b", "b", "b", "b", "b"), ask("e")]
    outcomes = ledger.charge_many(group)
    accepted = [isinstance(outcome, Receipt) for outcome in outcomes]
    assert accepted == [True, True, *[True] * 4, False, False, False, True]
    ids = [outcome.release_id for outcome in outcomes if isinstance(outcome, Receipt)]
    assert ids == [one.release_id for one, good in zip(group, accepted, strict=True) if good]
    assert releases(ledger, *"abcde") == [5, 1, 1, 4, 1]
    assert outcomes[6].positions == (0,)
    assert (ledger.totals().releases, ledger.totals().refusals, ledger.totals().charged) == (7, 3, 12)
    assert ledger.charge_many([]) == []


def test_repeatable_releases_are_charged_once(url, open_ledger):
    ledger = open_ledger(url, Limits(releases=2))
    assert ledger.charge(ask("a", "a", "b", marks="xxx")).charged == 2
    again = ledger.charge(ask("a", "b", marks="xx"))
    assert (again.charged, again.remaining) == (0, 1)
    assert ledger.charge(ask("a", "a", marks="xy")).charged == 1
    with pytest.raises(Refused):
        ledger.charge(ask("b", "a", marks="nz"))
    assert ledger.charge(ask("a", "a", marks="xy")).charged == 0  # free, though nothing is left
    assert ledger.charge(ask("b", marks="n")).charged == 1  # the refused ask left no mark
    assert releases(ledger, "a", "b") == [2, 2]
    group = ledger.charge_many(
        [ask("c", marks="x"), ask("c", marks="x"), ask("a", "d", marks="qx"), ask("d", marks="x")]
    )
    assert [outcome.charged if isinstance(outcome, Receipt) else None for outcome in group] == [1, 0, None, 1]


def test_a_release_id_is_used_once(ledger):
    one = ask("a")
    ledger.charge(one)
    with pytest.raises(PriveeError, match="used before"):
        ledger.charge(one)
    assert releases(ledger, "a") == [1]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Ask("abc", ONE, "key", "id"),
        lambda: Ask(["a", 7], ONE, "key", "id"),
        lambda: Ask(["a", "\ud800"], ONE, "key", "id"),
        lambda: Ask(["a"], Price(releases=-1), "key", "id"),
        lambda: Ask(["a"], Price(releases=1.5), "key", "id"),
        lambda: Ask(["a"], ONE, "key", "i" * 33),
        lambda: Ask(["a"], ONE, "k\x00", "id"),
        lambda: Ask(["a"], ONE, "key", "id", [b"short"]),
        lambda: Ask(["a", "b"], ONE, "key", "id", [b"x" * 32]),
    ],
)
def test_asks_that_make_no_sense_are_refused(wrong):
    with pytest.raises(PriveeError):
        wrong()


def test_ids_are_not_stored_and_must_be_text(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("customer 4711", marks="x"))
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"4711" not in stored
    assert KEY not in stored
    for use in (ledger.spent, lambda entity: ledger.reset(entity, reason="r", actor="a")):
        with pytest.raises(PriveeError, match="UTF-8"):
            use("\ud800")
    assert ledger.fingerprint(b"ab", b"c") != ledger.fingerprint(b"a", b"bc")


# Against a plain model

ENTITIES = "abc"
PRICES = (ONE, Price(1, 300), Price(0, 700))
LIMITS = Limits(releases=6, epsilon=2000, window=100)
STEPS = st.lists(
    st.one_of(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(ENTITIES), max_size=4),
                st.sampled_from(PRICES),
                st.one_of(st.none(), st.lists(st.sampled_from("xy"), min_size=4, max_size=4)),
            ),
            min_size=1,
            max_size=4,
        ),
        st.integers(1, 120),
        st.sampled_from(ENTITIES),
    ),
    max_size=12,
)


class Model:
    """The ledger in plain Python: asks one after the other, on a dictionary."""

    def __init__(self) -> None:
        self.spent, self.answered, self.now = {}, set(), 0

    def counts(self, entity):
        started, *counts = self.spent.get(entity, (self.now, 0, 0))
        return [self.now, 0, 0] if self.now - started >= LIMITS.window else [started, *counts]

    def charge(self, entities, price, marks):
        pairs = None if marks is None else dict.fromkeys(zip(entities, marks, strict=False))
        paying = (
            entities
            if pairs is None
            else [entity for entity, _ in (pair for pair in pairs if pair not in self.answered)]
        )
        after = {entity: self.counts(entity) for entity in paying}
        for entity in paying:
            after[entity] = [after[entity][0], after[entity][1] + price.releases, after[entity][2] + price.epsilon]
        if any(count > LIMITS.releases or epsilon > LIMITS.epsilon for _, count, epsilon in after.values()):
            return None
        self.spent |= after
        self.answered |= set(pairs or ())
        return len(paying)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_random_asks_do_what_a_plain_model_does(database, tmp_path, request):
    url = f"sqlite:///{tmp_path / 'l.db'}" if database == "sqlite" else request.getfixturevalue("postgres_url")
    Ledger.create(url, KEY)
    time, examples = Time(), itertools.count()

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def check(steps):
        model, example = Model(), next(examples)
        started = ledger.now()
        for step in steps:
            if isinstance(step, int):
                time.elapsed += step
                model.now = ledger.now() - started
            elif isinstance(step, str):
                if step in model.spent:
                    ledger.reset(f"{example} {step}", reason="test", actor="test")
                    model.spent[step] = (model.now, 0, 0)
            else:
                group = [
                    ask(*(f"{example} {one}" for one in who), price=price, marks=marks and "".join(marks[: len(who)]))
                    for who, price, marks in step
                ]
                outcomes = ledger.charge_many(group)
                expected = [model.charge(*one) for one in step]
                charged = [found.charged if isinstance(found, Receipt) else None for found in outcomes]
                assert [one is None for one in charged] == [one is None for one in expected]
                assert sum(filter(None, charged)) == sum(filter(None, expected))
        for entity in ENTITIES:
            spent = ledger.spent(f"{example} {entity}").spent
            assert [spent["releases"], round(spent["epsilon"] * UNIT)] == model.counts(entity)[1:]

    with Ledger.open(url, KEY, limits=LIMITS, clock=time.clock()) as ledger:
        check()


# Many at once


@pytest.mark.parametrize("together", [1, 3])
def test_eight_threads_get_exactly_what_is_allowed(ledger, together):
    def hammer(_):
        good, ended = 0, False
        while not ended:
            outcomes = ledger.charge_many([ask("a") for _ in range(together)])
            good += sum(isinstance(outcome, Receipt) for outcome in outcomes)
            ended = all(isinstance(outcome, Refused) for outcome in outcomes)
        return good

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(hammer, range(8))) == 50
    assert releases(ledger, "a") == [50]
    assert ledger.totals().charged == 50


def test_threads_that_repeat_one_release_pay_once(ledger):
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda _: ledger.charge(ask("a", "b", marks="xx")), range(40)))
    assert sum(receipt.charged for receipt in receipts) == 2
    assert releases(ledger, "a", "b") == [1, 1]


HAMMER = """
import sys, threading
from uuid import uuid4
from privee.gateway.ledger.ledger import *
ledger, good = Ledger.open(sys.argv[1], b"k" * 32, limits=Limits(releases=50)), []
def hammer():
    try:
        while True:
            good.append(ledger.charge(Ask(["other", "a"], Price(), "key", uuid4().hex)))
    except Refused:
        pass
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=hammer) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(good))
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603


def output(script: str, *arguments: str) -> str:
    with start(script, *arguments) as process:
        found, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return found


def test_two_processes_get_exactly_what_is_allowed(url, ledger):
    processes = [start(HAMMER, url) for _ in range(2)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    counts = [int(process.communicate(timeout=30)[0]) for process in processes]
    assert sum(counts) == 50
    assert releases(ledger, "a", "other") == [50, 50]


def test_batches_in_opposite_order_do_not_lock_each_other_out(url, open_ledger):
    ledger = open_ledger(url, Limits())
    names = [f"e{number}" for number in range(200)]

    def charge(turn):
        for _ in range(15):
            ledger.charge(ask(*names[::turn]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(charge, [1, -1, 1, -1]))
    assert releases(ledger, names[0], names[-1]) == [60, 60]


CRASHING = """
import os, random, signal, sys, time
from uuid import uuid4
from privee.gateway.ledger.ledger import *
Ledger.open(sys.argv[1], b"k" * 32, limits=Limits()).close()
reads, writes = os.pipe()
for turn in range(20):
    child = os.fork()
    if not child:
        ledger = Ledger.open(sys.argv[1], b"k" * 32, limits=Limits())
        os.write(writes, b"x")
        while True:
            asks = [Ask([f"a{turn}", f"b{turn}"], Price(), "key", uuid4().hex) for _ in range(turn % 3 + 1)]
            for receipt in ledger.charge_many(asks):
                os.write(1, f"{turn} {receipt.charged}\\n".encode())
    os.read(reads, 1)
    time.sleep(random.uniform(0, 0.1))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_killed_at_any_moment_it_never_counts_less_than_was_released(url, open_ledger):
    lines = output(CRASHING, url).split("\n")[:-1]
    assert len(lines) > 20
    ledger = open_ledger(url)
    for turn in range(20):
        seen = lines.count(f"{turn} 2")
        a, b = releases(ledger, f"a{turn}", f"b{turn}")
        assert a == b
        assert seen <= a <= seen + turn % 3 + 1  # at most one group was under way


# Trouble with the database


def test_a_lost_connection_is_replaced(postgres, postgres_url, open_ledger):  # noqa: F811
    Ledger.create(postgres_url, KEY)
    ledger = open_ledger(postgres_url)
    ledger.charge(ask("a"))
    postgres.disconnect_all()
    ledger.charge(ask("a"))
    assert ledger.price(["a"], ONE).spent == {"releases": 2}
    postgres.stop()
    for attempt in (
        lambda: ledger.charge(ask("a")),
        lambda: ledger.price(["a"], ONE),
        lambda: ledger.spent("a"),
        ledger.ping,
    ):
        with pytest.raises(LedgerUnavailable, match="cannot be reached"):
            attempt()
    postgres.start()
    assert ledger.charge(ask("a")).remaining == 47
    ledger.ping()


def test_a_commit_without_an_answer_is_not_repeated(postgres, postgres_url, open_ledger):  # noqa: F811
    Ledger.create(postgres_url, KEY)
    ledger = open_ledger(postgres_url)
    ledger.charge(ask("a"))
    run_all(
        postgres_url,
        "CREATE SEQUENCE tries",
        "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tries'); "
        "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$",
        "CREATE CONSTRAINT TRIGGER last AFTER INSERT ON releases DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION die()",
    )
    with pytest.raises(LedgerUnavailable):
        ledger.charge(ask("a"))
    assert run_all(postgres_url, "SELECT last_value FROM tries") == 1
    run_all(postgres_url, "DROP TRIGGER last ON releases")
    assert ledger.charge(ask("a")).remaining == 48


def test_collisions_are_tried_again_and_counted_once(postgres_url, open_ledger):  # noqa: F811
    Ledger.create(postgres_url, KEY)
    ledger = open_ledger(postgres_url)
    run_all(
        postgres_url,
        "CREATE SEQUENCE tries",
        "CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('tries') <= 2 THEN "
        "RAISE EXCEPTION 'collision' USING ERRCODE = '40P01'; END IF; RETURN NEW; END $$",
        "CREATE TRIGGER first BEFORE INSERT ON releases FOR EACH ROW EXECUTE FUNCTION collide()",
    )
    assert ledger.charge(ask("a")).remaining == 49
    assert run_all(postgres_url, "SELECT last_value FROM tries") == 3


def test_a_database_that_cannot_be_written_is_named(postgres_url, open_ledger):  # noqa: F811
    Ledger.create(postgres_url, KEY)
    run_all(postgres_url, "ALTER DATABASE postgres SET default_transaction_read_only = on")
    ledger = open_ledger(postgres_url)
    with pytest.raises(LedgerUnavailable, match="read only"):
        ledger.charge(ask("a"))
    with pytest.raises(LedgerUnavailable, match="check that it runs, and its address, name"):
        Ledger.create(postgres_url.replace("/postgres?", "/nowhere?"), KEY)


def run_all(url: str, *statements: str):
    """The last statement's first value."""
    engine = connect(url)
    try:
        with engine.begin() as connection:
            results = [connection.exec_driver_sql(statement) for statement in statements]
            return results[-1].scalar() if results[-1].returns_rows else None
    finally:
        engine.dispose()


FULL_DISK = """
import json, os, resource, sys
from uuid import uuid4
from privee.gateway.ledger.ledger import *
url, path = sys.argv[1:]
ledger, good, failed, words = Ledger.open(url, b"k" * 32, limits=Limits()), 0, 0, ""
def charge():
    ledger.charge(Ask([f"e{number}" for number in range(40)], Price(), "key", uuid4().hex))
charge()
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path + "-wal") + 100_000, -1))
while failed < 3:
    try:
        charge()
        good += 1
    except LedgerUnavailable as error:
        failed, words = failed + 1, str(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
charge()
ledger.close()
print(json.dumps([good, words]))
"""


def test_a_full_disk_counts_nothing_by_halves_and_passes(sqlite_url, open_ledger, tmp_path):
    good, words = json.loads(output(FULL_DISK, sqlite_url, str(tmp_path / "l.db")))
    assert words == "the ledger's disk is full or failed: check it, nothing is released until then"
    assert good > 0
    ledger = open_ledger(sqlite_url)
    assert set(releases(ledger, *(f"e{number}" for number in range(40)))) == {good + 2}


@pytest.mark.parametrize(
    ("pragma", "words"), [("max_page_count=1", "disk is full"), ("query_only=ON", "cannot be written")]
)
def test_a_file_that_cannot_grow_or_be_written_is_named(sqlite_url, open_ledger, pragma, words):
    ledger = open_ledger(sqlite_url)
    hindered = [True]

    def hinder(connection, _record):
        if hindered:
            connection.execute(f"PRAGMA {pragma}")

    ledger.engine.dispose()
    sa.event.listen(ledger.engine, "connect", hinder)
    many = [f"e{number}" for number in range(400)]
    with pytest.raises(LedgerUnavailable, match=words):
        ledger.charge(ask(*many))
    hindered.clear()
    ledger.charge(ask(*many))
    assert set(releases(ledger, *many)) == {1}


def test_a_locked_file_is_named_in_time(sqlite_url, open_ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(engine_settings, "BUSY_SECONDS", 0.2)
    ledger = open_ledger(sqlite_url)
    other = sqlite3.connect(tmp_path / "l.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for attempt in (lambda: ledger.charge(ask("a")), lambda: ledger.reset("a", reason="r", actor="a")):
        with pytest.raises(LedgerUnavailable, match="keeps the ledger locked"):
            attempt()
    assert ledger.price(["a"], ONE).allowed  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    assert ledger.charge(ask("a")).remaining == 49


def test_threads_that_wait_too_long_are_told(sqlite_url, open_ledger, monkeypatch):
    ledger, began, end = open_ledger(sqlite_url), threading.Event(), threading.Event()
    monkeypatch.setattr(engine_settings, "BUSY_SECONDS", 0.1)
    thread = threading.Thread(target=lambda: ledger._writing.run(lambda _: (began.set(), end.wait())))
    thread.start()
    began.wait()
    with pytest.raises(LedgerUnavailable, match="too busy"):
        ledger.charge(ask("a"))
    end.set()
    thread.join()
    ledger.charge(ask("a"))
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerUnavailable, match="closed"):
        ledger.charge(ask("a"))


def test_a_file_that_was_replaced_is_not_written_to(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("a"))
    shutil.copy(tmp_path / "l.db", tmp_path / "copy.db")
    os.replace(tmp_path / "copy.db", tmp_path / "l.db")
    with pytest.raises(LedgerUnavailable, match="removed or replaced"):
        ledger.charge(ask("a"))


# Opening


def damage(path: Path, start: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:start] + bytes(0xEE for _ in content[start:]))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda path: damage(path, 4096), "damaged"),
        (lambda path: damage(path, path.stat().st_size - 4096), "damaged"),
        (lambda path: os.truncate(path, path.stat().st_size // 2), "damaged"),
        (lambda path: path.write_text("not a database, " * 1000), "damaged"),
        (lambda path: os.truncate(path, 0), "holds no ledger: privee ledger init"),
        (Path.unlink, "there is no ledger .*: privee ledger init makes one"),
    ],
)
def test_a_file_that_is_no_sound_ledger_is_refused(sqlite_url, open_ledger, tmp_path, harm, words):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask(*(f"e{number}" for number in range(300))))
    ledger.close()
    harm(tmp_path / "l.db")
    with pytest.raises(PriveeError, match=words) as refused:
        Ledger.open(sqlite_url, KEY, limits=FIFTY)
    assert "\n" not in str(refused.value)
    if harm is not Path.unlink:
        return
    assert not (tmp_path / "l.db").exists()
    with pytest.raises(PriveeError, match="there is no ledger"):
        Ledger.upgrade(sqlite_url)


def test_another_key_or_another_version_is_refused(url, monkeypatch):
    Ledger.create(url, KEY)  # again: nothing happens
    for use in (lambda key: Ledger.open(url, key, limits=FIFTY), lambda key: Ledger.create(url, key)):
        with pytest.raises(PriveeError, match="another key"):
            use(b"o" * 32)
    with pytest.raises(PriveeError, match="at least 16 bytes"):
        Ledger.open(url, b"short", limits=FIFTY)
    Ledger.upgrade(url)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "head", lambda: "0002")
        with pytest.raises(PriveeError, match="run privee ledger upgrade"):
            Ledger.open(url, KEY, limits=FIFTY)
    run_all(url, "UPDATE alembic_version SET version_num = '9999'")
    for use in (
        lambda: Ledger.open(url, KEY, limits=FIFTY),
        lambda: Ledger.upgrade(url),
        lambda: Ledger.create(url, KEY),
    ):
        with pytest.raises(PriveeError, match="newer privee"):
            use()


def test_a_new_ledger_is_private_and_takes_nobody_elses_place(tmp_path):
    url = f"sqlite:///{tmp_path / 'l.db'}"
    run_all(url, "CREATE TABLE releases (song TEXT)")
    with pytest.raises(PriveeError, match="table releases of something else"):
        Ledger.create(url, KEY)
    Ledger.create(f"sqlite:///{tmp_path / 'm.db'}", KEY)
    assert stat.S_IMODE((tmp_path / "m.db").stat().st_mode) == 0o600
    for wrong in (
        "sqlite:////nowhere/at/all/l.db",
        "sqlite://",
        "sqlite:///file:x?mode=memory&uri=true",
        "mysql://x/y",
        "x",
    ):
        with pytest.raises(PriveeError):
            Ledger.create(wrong, KEY)


def test_several_may_create_at_once(postgres_url):  # noqa: F811
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: Ledger.create(postgres_url, KEY), range(3)))
    Ledger.open(postgres_url, KEY, limits=FIFTY).close()


def test_migrations_make_exactly_the_tables_of_the_schema(url):
    engine = connect(url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert migrate.current(connection) == migrate.head()
    engine.dispose()


def test_the_audit_log_only_grows(url, ledger):
    ledger.charge(ask("a"))
    ledger.reset("a", reason="first", actor="me")
    changes = ["UPDATE audit_log SET reason = 'x'", "DELETE FROM audit_log"]
    if url.startswith("sqlite"):
        changes.append("REPLACE INTO audit_log SELECT * FROM audit_log")
    else:
        changes.append("TRUNCATE audit_log")
    for change in changes:
        with pytest.raises(sa.exc.DBAPIError, match="append only"):
            run_all(url, change)


def test_commits_wait_for_the_disk_whatever_the_server_prefers(postgres_url, open_ledger):  # noqa: F811
    Ledger.create(postgres_url, KEY)
    run_all(postgres_url, "ALTER DATABASE postgres SET synchronous_commit = off")
    with open_ledger(postgres_url).reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


# Time


def test_a_window_ends_by_time_that_passed_and_by_nothing_else(url, open_ledger):
    time, limits = Time(), Limits(releases=2, window=100)
    ledger = open_ledger(url, limits, time.clock())
    ledger.charge(ask("a"))
    time.elapsed += 60
    ledger.charge(ask("a"))
    assert ledger.spent("a").window_ends == 1e9 + 100
    time.wall += 1e6
    with pytest.raises(Refused):
        ledger.charge(ask("a"))
    time.elapsed += 39.9
    assert not ledger.price(["a"], ONE).allowed
    time.elapsed += 0.1
    assert ledger.price(["a"], ONE).remaining == 2
    assert releases(ledger, "a") == [0]
    ledger.charge(ask("a"))
    assert ledger.spent("a").spent == {"releases": 1}
    assert ledger.spent("a").lifetime_releases == 3


def test_a_clock_moved_back_frees_nothing_early(url, open_ledger):
    limits = Limits(releases=1, window=100)
    open_ledger(url, limits, Time(wall=1e9).clock()).charge(ask("a"))
    time = Time(wall=1e8)
    ledger = open_ledger(url, limits, time.clock())
    assert ledger.now() == 1e9
    time.elapsed += 99
    with pytest.raises(Refused):
        ledger.charge(ask("a"))
    time.elapsed += 1
    ledger.charge(ask("a"))


# Reset, and what auditors read


def test_reset_starts_anew_and_keeps_what_was_given_in_a_lifetime(url, open_ledger):
    ledger = open_ledger(url, Limits(releases=2, epsilon=8 * UNIT))
    price = Price.of_epsilon(0.5)
    ledger.charge(ask("a", "a", price=price))
    ledger.reset("a", reason="asked for in writing", actor="key:1234")
    spent = ledger.spent("a")
    assert (spent.spent, spent.lifetime_releases, spent.lifetime_epsilon) == ({"releases": 0, "epsilon": 0.0}, 2, 1.0)
    assert ledger.charge(ask("a", price=price)).remaining == 1
    with ledger.reading() as connection:
        (entry,) = audit_chain.entries(connection)
        assert audit_chain.verify(connection, ledger.chain_key).ok
    assert (entry.act, entry.subject, entry.reason, entry.actor) == (
        "ledger.reset",
        spent.tag,
        "asked for in writing",
        "key:1234",
    )
    assert json.loads(entry.details)["releases"] == 2
    for entity, reason, actor in (("unknown", "r", "me"), ("a", " ", "me"), ("a", "r", "")):
        with pytest.raises(PriveeError):
            ledger.reset(entity, reason=reason, actor=actor)
    assert releases(ledger, "a") == [1]  # what is not written to the chain does not happen


def test_what_auditors_read(url, open_ledger):
    time = Time(wall=1_000_000_000)
    ledger = open_ledger(url, Limits(releases=4, epsilon=8 * UNIT, window=1000), time.clock())
    assert ledger.totals().releases == 0
    ledger.charge(ask("old", "old"))
    time.elapsed += 1000
    ledger.charge(ask("a", "a", "b"))
    ledger.charge(ask("c", price=Price.of_epsilon(7)))
    time.elapsed += 60
    for _ in range(2):
        with pytest.raises(Refused):
            ledger.charge(ask("c", price=Price.of_epsilon(7)))
    found = ledger.near_limit(3)
    assert [one.share for one in found] == [7 / 8, 0.5, 0.25]
    assert [one.tag for one in found] == [ledger.spent(name).tag for name in "cab"]
    assert found[0].spent == {"releases": 1, "epsilon": 7.0}
    assert found[0].window_ends == 1_000_002_000
    assert ledger.activity(0, 60) == [(999_999_960, 1, 0), (1_000_000_980, 2, 0), (1_000_001_040, 0, 2)]
    assert ledger.activity(1_000_001_001, 3600) == [(999_997_200 + 3600, 0, 2)]
    totals = ledger.totals()
    assert (totals.entities, totals.releases, totals.refusals, totals.charged) == (4, 3, 2, 6)
    assert open_ledger(url, Limits()).near_limit(3) == []


# Prices and limits

EPSILON = st.floats(1e-3, 4.0)


@settings(max_examples=300)
@given(EPSILON, st.integers(1, 10**5), st.floats(1 - 1e-3, 1 + 1e-3), st.one_of(st.just(0.0), st.floats(1e-12, 0.5)))
def test_sums_fit_as_composition_says(epsilon, queries, near, delta):
    composed = composed_epsilon(epsilon, queries, delta)
    total = composed * near
    accepted = fits(Limits(epsilon=int(total * UNIT), delta=delta), Price.of_epsilon(epsilon).times(queries))
    assert not accepted or composed <= total * (1 + 1e-12)
    assert accepted or composed > total * (1 - 1e-4)


@given(EPSILON, st.floats(1e-3, 1e3), st.one_of(st.just(0.0), st.floats(1e-12, 0.5)), st.integers(0, 30))
def test_what_remains_is_exactly_what_still_fits(epsilon, total, delta, before):
    limits, price = Limits(releases=10**5, epsilon=int(total * UNIT), delta=delta), Price.of_epsilon(epsilon)
    left = remaining(limits, price.times(before), price)
    assert left == 0 or fits(limits, price.times(before + left))
    assert not fits(limits, price.times(before + left + 1))


def test_prices_mean_what_was_written():
    assert remaining(Limits(epsilon=3 * UNIT // 10), NOTHING, Price.of_epsilon(0.1)) == 3
    assert Price.of(RankingOnly(), 10) == ONE == Price.of(PriveeU(rho=0.1), 10)
    assert remaining(Limits(releases=3), NOTHING, Price(0)) is None
    assert remaining(Limits(releases=3), Price(4), Price(0)) == 0  # the limit was higher before
    assert remaining(Limits(releases=9, epsilon=10, delta=0.1), NOTHING, Price(1, 3)) == 9


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_database_decides_exactly_as_python_does(database, tmp_path, request):
    url = f"sqlite:///{tmp_path / 'l.db'}" if database == "sqlite" else request.getfixturevalue("postgres_url")
    Ledger.create(url, KEY)
    number = st.one_of(st.integers(0, 10**13), st.integers(0, CAP), st.just(CAP))
    price = st.builds(Price, st.integers(0, 100), number, number, number)

    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(
        price,
        price,
        st.builds(Limits, st.integers(100, 200), number.filter(lambda n: n < CAP), st.floats(0, 0.9)),
        st.data(),
    )
    def check(before, more, limits, data):
        if limits.delta and data.draw(st.booleans()):  # at the border of advanced composition
            drift = data.draw(st.integers(0, limits.epsilon))
            border = (limits.epsilon - drift) ** 2 / limits.spread * data.draw(st.floats(0.999, 1.001))
            before = Price(1, CAP, drift, min(int(border), CAP))
            more = Price(1, 1, 0, data.draw(st.integers(0, 1)))
        counting = Counting(limits, "?" if database == "sqlite" else "%s")

        def decide(cursor):
            cursor.execute("DELETE FROM spending")
            counting.charge(cursor, {b"e": before}, 0)
            return counting.charge(cursor, {b"e": more}, 0)

        total = before.plus(more)
        assert writing.run(decide) == ({b"e": total} if fits(limits, total) else {})

    engine = connect(url)
    writing = connections.Connections(engine, writes=True)
    check()
    writing.close()
    engine.dispose()


def test_advanced_composition_never_exceeds_the_total(url, open_ledger):
    defense, delta = OrderedDP(0.1), 1e-3
    ledger = open_ledger(url, limits_for(defense, 10, epsilon=4.0, delta=delta))
    price, count = Price.of(defense, 10), 0
    while isinstance(outcome := ledger.charge_many([ask("a", "a", price=price)])[0], Receipt):
        count += 2
    assert composed_epsilon(0.1, count, delta) <= 4.0 < composed_epsilon(0.1, count + 2, delta)
    assert count > 40
    assert outcome.limit == {"epsilon": 4.0, "delta": delta}
    assert outcome.spent["epsilon"] == pytest.approx(composed_epsilon(0.1, count, delta))


def test_sums_stop_before_the_database_overflows(url, open_ledger):
    ledger, dear = open_ledger(url, Limits()), Price.of_epsilon(1e300)
    for _ in range(4):
        assert ledger.charge(ask("a", "a", price=dear)).remaining is None
    assert ledger.spent("a").lifetime_epsilon == CAP / UNIT


def test_limits_come_from_the_papers_corollary_or_from_composition():
    assert limits_for(PriveeU(rho=0.1), 10, within=0.001, probability=0.5).releases == 29
    assert limits_for(PriveeU(rho=0.1), 10, within=0.001, releases=1).releases == 1
    assert limits_for(RankingOnly(), 10, within=0.01) == Limits()
    assert limits_for(OrderedDP(0.5), 10, epsilon=0.3 + 0.3, window=60) == Limits(epsilon=600_000_000_000, window=60)
    assert limits_for(OrderedDP(0.5), 10, epsilon=8, delta=1e-6).as_dict() == {"epsilon": 8.0, "delta": 1e-6}


@pytest.mark.parametrize(
    ("defense", "wanted", "words"),
    [
        (PriveeU(rho=0.1), {"epsilon": 1.0}, "no pure differential privacy"),
        (GaussianNoise(epsilon=0.5), {"epsilon": 1.0}, "no pure differential privacy"),
        (OrderedDP(0.5), {"within": 0.01}, "no query budget"),
        (OrderedDP(0.5), {"epsilon": 0.4}, "do not allow a single release"),
        (PriveeU(rho=0.1), {"within": 0.5}, "do not allow a single release"),
        (OrderedDP(0.5), {"epsilon": -1.0}, "above 0"),
        (OrderedDP(0.5), {"epsilon": float("nan")}, "above 0"),
        (OrderedDP(0.5), {"delta": 0.1}, "give `epsilon` too"),
        (OrderedDP(0.5), {"epsilon": 1.0, "delta": 1.0}, "delta must be"),
        (PriveeU(rho=0.1), {"probability": 0.1}, "give `within` too"),
        (PriveeU(rho=0.1), {"releases": 1.5}, "whole number"),
        (PriveeU(rho=0.1), {"releases": 5, "window": 0}, "whole number from 1"),
    ],
)
def test_limits_that_make_no_sense_are_refused(defense, wanted, words):
    with pytest.raises(PriveeError, match=words):
        limits_for(defense, 10, **wanted)
