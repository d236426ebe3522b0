"""The ledger's database: lost connections, full disks, locks, and what is refused when it is opened."""

import json
import os
import shutil
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from privee.durable import database as engine_settings
from privee.durable.database import connect
from privee.errors import PriveeError
from privee.gateway.ledger import opening as ledger_opening
from privee.gateway.ledger.ledger import Ledger, LedgerUnavailableError
from privee.gateway.ledger.schema import by_use, metadata
from tests._support.ledger_cases import FIFTY, KEY, ONE, ask, output, releases

# Trouble with the database


def test_a_lost_connection_is_replaced(postgres, postgres_url, open_ledger):
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
        with pytest.raises(LedgerUnavailableError, match="cannot be reached"):
            attempt()
    postgres.start()
    assert ledger.charge(ask("a")).remaining == 47
    ledger.ping()


def test_a_commit_without_an_answer_is_not_repeated(postgres, postgres_url, open_ledger):
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
    with pytest.raises(LedgerUnavailableError):
        ledger.charge(ask("a"))
    assert run_all(postgres_url, "SELECT last_value FROM tries") == 1
    run_all(postgres_url, "DROP TRIGGER last ON releases")
    assert ledger.charge(ask("a")).remaining == 48


def test_collisions_are_tried_again_and_counted_once(postgres_url, open_ledger):
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


def test_a_database_that_cannot_be_written_is_named(postgres_url, open_ledger):
    Ledger.create(postgres_url, KEY)
    run_all(postgres_url, "ALTER DATABASE postgres SET default_transaction_read_only = on")
    ledger = open_ledger(postgres_url)
    with pytest.raises(LedgerUnavailableError, match="read only"):
        ledger.charge(ask("a"))
    with pytest.raises(LedgerUnavailableError, match="check that it runs, and its address, name"):
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
    ledger.charge(ChargeRequest([f"e{number}" for number in range(40)], Price(), "key", uuid4().hex))
charge()
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path + "-wal") + 100_000, -1))
while failed < 3:
    try:
        charge()
        good += 1
    except LedgerUnavailableError as error:
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
    with pytest.raises(LedgerUnavailableError, match=words):
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
        with pytest.raises(LedgerUnavailableError, match="keeps the ledger locked"):
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
    with pytest.raises(LedgerUnavailableError, match="too busy"):
        ledger.charge(ask("a"))
    end.set()
    thread.join()
    ledger.charge(ask("a"))
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerUnavailableError, match="closed"):
        ledger.charge(ask("a"))


def test_a_file_that_was_replaced_is_not_written_to(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("a"))
    shutil.copy(tmp_path / "l.db", tmp_path / "copy.db")
    os.replace(tmp_path / "copy.db", tmp_path / "l.db")
    with pytest.raises(LedgerUnavailableError, match="removed or replaced"):
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
        (lambda path: os.truncate(path, 0), "damaged.*put back its latest copy"),
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
        patched.setattr(ledger_opening, "head", lambda: "9998")
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
    (tmp_path / "l.db").touch()  # a ledger is never made by opening it
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


def test_several_may_create_at_once(postgres_url):
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: Ledger.create(postgres_url, KEY), range(3)))
    with Ledger.open(postgres_url, KEY, limits=FIFTY) as ledger:
        assert ledger.charge(ask("e1")).remaining == 49


def test_migrations_make_exactly_the_tables_of_the_schema(url):
    engine = connect(url)
    elsewhere = by_use if url.startswith("sqlite") else ()
    told = {"include_object": lambda thing, *_: not any(thing is one for one in elsewhere)}
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=told), metadata) == []
        assert ledger_opening.current(connection) == ledger_opening.head()
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


def test_commits_wait_for_the_disk_whatever_the_server_prefers(postgres_url, open_ledger):
    Ledger.create(postgres_url, KEY)
    run_all(postgres_url, "ALTER DATABASE postgres SET synchronous_commit = off")
    with open_ledger(postgres_url).reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
