"""Counts that a SQLite ledger lost show: a `-wal` file that was removed, an old copy, a mark that was tampered with."""

import os
import shutil
import signal
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from privee.durable import audit_chain, losses
from privee.durable.database import connect
from privee.errors import PriveeError
from privee.gateway.ledger import opening as ledger_opening
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.ledger import Ledger, LedgerUnavailableError, Limits, RefusedError
from tests._support.ledger_cases import KEY, Time, allow, ask, releases, start

CHARGING = """
import sys
from uuid import uuid4
from privee.gateway.ledger.ledger import *
ledger = Ledger.open(sys.argv[1], b"k" * 32, limits=Limits())
for line in sys.stdin:
    try:
        ledger.charge(ChargeRequest(["a", "b"], Price(), "key", uuid4().hex))
        print("released", flush=True)
    except LedgerUnavailableError as error:
        print(error, flush=True)
"""


class Charging:
    """Another process that charges when told to."""

    def __init__(self, url: str) -> None:
        self.process = start(CHARGING, url)

    def charge(self) -> str:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=30)

    def end(self) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture
def charging(sqlite_url):
    made = Charging(sqlite_url)
    yield made
    made.process.poll() is None and made.kill()


@pytest.mark.parametrize("end", ["-wal", "-shm", "-mark", ""])
def test_a_removed_file_stops_releases_at_once(sqlite_url, charging, tmp_path, open_ledger, end):
    assert [charging.charge() for _ in range(3)] == ["released"] * 3
    os.unlink(tmp_path / f"l.db{end}")
    for _ in range(3):
        assert f"l.db{end} was removed or replaced: start its server anew" in charging.charge()
    charging.end()
    if end in {"-wal", "-shm"}:  # ended in order it saves what it knows, so a new start has all
        assert releases(open_ledger(sqlite_url), "a") == [3]


def test_it_is_not_ready_either(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("a"))
    ledger.ping()
    os.unlink(tmp_path / "l.db-wal")
    with pytest.raises(LedgerUnavailableError, match="-wal was removed"):
        ledger.ping()


def lose(tmp_path: Path, charging: Charging, count: int = 10) -> None:
    """Charges whose `-wal` file is removed between a crash and a restart."""
    assert [charging.charge() for _ in range(count)] == ["released"] * count
    charging.kill()
    for end in ("-wal", "-shm"):
        os.unlink(tmp_path / f"l.db{end}")


def test_a_wal_file_removed_between_a_crash_and_a_restart_is_noticed(sqlite_url, charging, tmp_path, open_ledger):
    lose(tmp_path, charging)
    with pytest.raises(
        LedgerUnavailableError, match=r"lost counts, about 20 charges in its last 10 commits .* accept-loss"
    ):
        open_ledger(sqlite_url)


def test_a_crash_alone_loses_nothing(sqlite_url, charging, open_ledger):
    assert [charging.charge() for _ in range(10)] == ["released"] * 10
    charging.kill()
    assert releases(open_ledger(sqlite_url), "a", "b") == [10, 10]


def test_an_emptied_wal_file_is_noticed(sqlite_url, charging, tmp_path):
    assert charging.charge() == charging.charge() == "released"
    os.truncate(tmp_path / "l.db-wal", 0)
    assert "-wal file was cut" in charging.charge()
    charging.kill()
    with pytest.raises(LedgerUnavailableError, match="lost counts"):
        Ledger.open(sqlite_url, KEY, limits=Limits())


def test_a_wal_file_that_somebody_had_copied_whole_is_no_loss(sqlite_url, charging, tmp_path, open_ledger):
    assert charging.charge() == charging.charge() == "released"
    other = sqlite3.connect(tmp_path / "l.db", isolation_level=None)
    assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    other.close()
    assert os.path.getsize(tmp_path / "l.db-wal") == 0
    assert charging.charge() == charging.charge() == "released"
    charging.kill()
    assert releases(open_ledger(sqlite_url), "a") == [4]


def copied(path: Path, place: Path) -> None:
    with sqlite3.connect(path) as source, sqlite3.connect(place) as target:
        source.backup(target)
    source.close()
    target.close()


def test_an_old_copy_is_noticed_before_and_while_it_runs(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("a"))
    copied(tmp_path / "l.db", tmp_path / "copy.db")
    ledger.charge(ask("a", "b", "c"))
    ledger.close()
    shutil.copy(tmp_path / "copy.db", tmp_path / "l.db")
    with pytest.raises(LedgerUnavailableError, match="about 3 charges in its last 1 commits"):
        open_ledger(sqlite_url)
    copied_over = sqlite3.connect(tmp_path / "l.db", isolation_level=None)  # the counter alone is not enough
    copied_over.execute("UPDATE tally SET commits = 2")
    ledger = open_ledger(sqlite_url)
    copied_over.execute("UPDATE tally SET commits = 0")
    with pytest.raises(LedgerUnavailableError, match="lost counts"):
        ledger.charge(ask("a"))
    copied_over.close()


def test_a_new_ledger_in_place_of_the_old_one_is_noticed(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("a"))
    ledger.close()
    os.unlink(tmp_path / "l.db")
    Ledger.create(sqlite_url, KEY)
    with pytest.raises(LedgerUnavailableError, match="lost counts"):
        open_ledger(sqlite_url)


@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        lambda mark: os.truncate(mark, 0),
        lambda mark: os.truncate(mark, 100),
        lambda mark: mark.write_bytes(b"\xff" * 100),
        lambda mark: mark.write_text(mark.read_text().replace("2 ", "1 ", 1)),  # lower
        lambda mark: mark.write_text(mark.read_text() * 2),
    ],
)
def test_a_mark_that_is_missing_or_forged_is_refused(sqlite_url, open_ledger, tmp_path, harm):
    ledger = open_ledger(sqlite_url)
    for _ in range(2):
        ledger.charge(ask("a"))
    ledger.close()
    mark = tmp_path / "l.db-mark"
    before = mark.read_text()
    assert KEY.hex() not in before
    harm(mark)
    with pytest.raises(LedgerUnavailableError, match=r"missing or not its own.* accept-loss"):
        open_ledger(sqlite_url)
    mark.write_text(before)
    assert releases(open_ledger(sqlite_url), "a") == [2]


def test_a_mark_emptied_while_it_runs_stops_releases(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("a"))
    os.truncate(tmp_path / "l.db-mark", 0)
    with pytest.raises(LedgerUnavailableError, match="missing or not its own"):
        ledger.charge(ask("a"))
    assert releases(ledger, "a") == [1]


def test_the_mark_is_private_and_never_ahead_of_what_is_committed(sqlite_url, open_ledger, tmp_path):
    ledger, mark = open_ledger(sqlite_url), tmp_path / "l.db-mark"
    assert mark.stat().st_mode & 0o777 == 0o600
    ledger.charge(ask("a"))
    before = mark.read_bytes()
    other = sqlite3.connect(tmp_path / "l.db", isolation_level=None)
    other.execute("CREATE TRIGGER full BEFORE INSERT ON releases BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(LedgerUnavailableError):
        ledger.charge(ask("a"))
    assert mark.read_bytes() == before
    other.execute("DROP TRIGGER full")
    other.close()
    open_ledger(sqlite_url, allow(releases=1))
    with pytest.raises(RefusedError):
        open_ledger(sqlite_url, allow(releases=1)).charge(ask("a"))
    ledger.charge(ask("a"))
    assert mark.read_bytes() > before


def test_administrative_acts_that_are_lost_show_too(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    key = KeyStore(ledger.engine, ledger.chain_key, ledger.now).create("n", "auditor", actor="me")
    ledger.close()
    shutil.copy(tmp_path / "l.db", tmp_path / "copy.db")
    ledger = open_ledger(sqlite_url)
    KeyStore(ledger.engine, ledger.chain_key, ledger.now).revoke(key.record.id, "leaked", actor="me")
    ledger.close()
    shutil.copy(tmp_path / "copy.db", tmp_path / "l.db")
    with pytest.raises(LedgerUnavailableError, match="0 charges in its last 1 commits"):
        open_ledger(sqlite_url)


# The way out


def test_a_loss_is_accepted_with_a_reason_and_read_before(sqlite_url, charging, tmp_path, open_ledger):
    with Ledger.open(sqlite_url, KEY, limits=Limits()) as first:
        first.charge(ask("known"))
    lose(tmp_path, charging)
    with Ledger.open(sqlite_url, KEY, limits=Limits(), lossy=True) as reading:
        assert reading.totals().charged == 1
        with pytest.raises(LedgerUnavailableError, match="lost counts"):
            reading.charge(ask("a"))
        with pytest.raises(PriveeError, match="reason"):
            reading.accept_loss(reason="", actor="me")
    with pytest.raises(LedgerUnavailableError, match="lost counts"):  # reading it changed nothing
        open_ledger(sqlite_url)
    with Ledger.open(sqlite_url, KEY, limits=Limits(), lossy=True) as reading:
        reading.accept_loss(reason="somebody tidied up", actor="me")
    ledger = open_ledger(sqlite_url)
    with ledger.reading() as connection:
        entry = audit_chain.entries(connection)[-1].as_dict()
        assert audit_chain.verify(connection, ledger.chain_key).ok
    assert (entry["act"], entry["reason"], entry["actor"]) == ("ledger.accept-loss", "somebody tidied up", "me")
    assert entry["details"] == {"commits_lost": 10, "charges_lost": 20, "spent": 0}
    ledger.charge(ask("a", "known"))
    assert releases(ledger, "a", "known") == [1, 2]
    with pytest.raises(PriveeError, match="nothing to accept"):
        ledger.accept_loss(reason="again", actor="me")


def test_after_a_loss_every_known_entity_can_be_treated_as_spent(sqlite_url, open_ledger, tmp_path):
    time, limits = Time(), allow(releases=5, epsilon=10, delta=0.1, window=100)
    ledger = open_ledger(sqlite_url, limits, time.clock())
    ledger.charge(ask("a", "b"))
    ledger.close()
    os.unlink(tmp_path / "l.db-mark")
    with Ledger.open(sqlite_url, KEY, limits=limits, clock=time.clock(), lossy=True) as reading:
        reading.accept_loss(reason="mark lost", actor="me", spend_all=True)
    ledger = open_ledger(sqlite_url, limits, time.clock())
    for entity in "ab":
        with pytest.raises(RefusedError):
            ledger.charge(ask(entity))
    assert ledger.charge(ask("new")).remaining == 4
    ledger.reset("a", reason="asked its owner", actor="me")
    assert ledger.charge(ask("a")).remaining == 4
    time.elapsed += 100
    assert ledger.charge(ask("b")).remaining == 4
    assert ledger.spent("b").lifetime_releases == 2


# Older ledgers, and how much is at stake


def test_a_ledger_without_a_mark_opens_after_an_upgrade(tmp_path, open_ledger):
    url = f"sqlite:///{tmp_path / 'l.db'}"
    Ledger.create(url, KEY)
    ledger = open_ledger(url)
    ledger.charge(ask("a"))
    ledger.close()
    engine = connect(url)
    with engine.begin() as connection:  # as version 0001 made it
        for table in ("tally", "quotas", "key_entities", "questions", "party_calls"):
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {table}"))
        connection.execute(sa.text("DROP INDEX releases_by_key"))
        connection.execute(sa.text("ALTER TABLE spending DROP COLUMN variants"))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0001'"))
    engine.dispose()
    os.unlink(tmp_path / "l.db-mark")
    with pytest.raises(PriveeError, match="run privee ledger upgrade"):
        open_ledger(url)
    Ledger.upgrade(url)
    ledger = open_ledger(url)
    ledger.charge(ask("a"))
    assert releases(ledger, "a") == [2]
    assert (tmp_path / "l.db-mark").exists()
    engine = connect(url)
    with engine.connect() as connection:
        assert ledger_opening.current(connection) == ledger_opening.head()
    engine.dispose()


def test_counts_do_not_stay_in_the_wal_file_alone(sqlite_url, open_ledger, tmp_path, monkeypatch):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("a"))
    assert count_without_wal(tmp_path) == 0
    monkeypatch.setattr(losses, "CHECKPOINT_SECONDS", 0.0)
    ledger.charge(ask("a"))
    assert count_without_wal(tmp_path) == 2


def count_without_wal(folder: Path) -> int:
    shutil.copy(folder / "l.db", folder / "alone.db")
    alone = sqlite3.connect(folder / "alone.db")
    found = alone.execute("SELECT COALESCE(SUM(releases), 0) FROM spending").fetchone()[0]
    alone.close()
    return found
