"""A ledger that is lost, put back from an old copy, or doubled: the party stops with one line, and draws nothing."""

import os
import shutil
import signal
import sqlite3

import pytest
import sqlalchemy as sa

from privee.durable.database import LedgerUnavailableError, connect
from privee.errors import PriveeError
from privee.party.ledger import PartyLedger
from privee.party.ledger.opening import url_of
from privee.party.ledger.place import is_same, place_of
from tests._support.ledger_cases import start
from tests._support.party_ledger_cases import OTHER_SEAL, Place, codes_of, copied, count, pin

ANSWERING = """
import sys
from pathlib import Path
import numpy as np
from privee.errors import PriveeError
from privee.party.ledger import *
ledger = PartyLedger.open(sys.argv[1], Path(sys.argv[2]), PartyLimits(bits=4))
for line in sys.stdin:
    try:
        print(*ledger.pin([line.strip()], SealTerms("5e" * 32, 16, 0.5), np.array([3], np.uint8)).codes, flush=True)
    except PriveeError as error:
        print(error, flush=True)
"""


class Answering:
    """A server in another process."""

    def __init__(self, place: Place) -> None:
        self.process = start(ANSWERING, place.address, str(place.secret))

    def ask(self, entity: str) -> str:
        self.process.stdin.write(f"{entity}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=30)


@pytest.fixture
def answering(in_file):
    made = Answering(in_file)
    yield made
    made.process.poll() is None and made.kill()


def refused(place: Place, words: str) -> None:
    """It does not open, says why in one line, and nothing is made in its place."""
    before = {path: path.read_bytes() for path in place.secret.parent.iterdir() if path.is_file()}
    with pytest.raises(PriveeError, match=words) as caught:
        place.open()
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in before} == before


def used(place: Place) -> None:
    with place.open() as ledger:
        pin(ledger, "ab", [1, 2])


# Lost


def test_a_lost_file_is_not_made_anew(in_file):
    used(in_file)
    in_file.file.unlink()
    refused(in_file, r"ledger.db is gone, but its secret ledger.key is there.* accept-loss")
    in_file.beside("-mark").unlink()
    refused(in_file, "is gone")
    assert not in_file.file.exists()


def test_a_lost_database_is_not_made_anew(postgres, tmp_path):
    place = Place(postgres.empty_database(), tmp_path / "ledger.key")
    used(place)
    postgres.empty_database()
    refused(place, "is gone, but its secret ledger.key is there")
    engine = connect(place.address)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()


def test_a_lost_secret_is_not_made_anew(place):
    used(place)
    place.secret.unlink()
    refused(place, "put the secret back")
    assert not place.secret.exists()
    if "://" not in place.address:
        place.file.unlink()
        refused(place, r"ledger.db-mark of a party's ledger, but not its secret")


def test_another_secret_opens_nothing(place, tmp_path):
    used(place)
    used(Place(str(tmp_path / "other.db"), tmp_path / "other.key"))
    shutil.copy(tmp_path / "other.key", place.secret)
    refused(place, "another key")


# Of another version


def stored_version(place: Place, version: str | None = None) -> str | None:
    """Read, or put another in its place."""
    engine = connect(url_of(place.address))
    with engine.begin() as connection:
        if version is not None:
            connection.execute(sa.text("UPDATE about SET value = :v WHERE name = 'version'"), {"v": version})
        found = connection.execute(sa.text("SELECT value FROM about WHERE name = 'version'")).scalar()
    engine.dispose()
    return found


@pytest.mark.parametrize("version", ["party 0", "party 2", "party 10"])
def test_tables_of_another_version_are_refused_and_left_alone(place, version):
    """Also by those who would accept a loss: nothing is lost, and nothing is made over."""
    used(place)
    assert stored_version(place) == "party 1"
    stored_version(place, version)
    words = f"has tables of version '{version}', and this privee knows 'party 1' alone: go on with the privee that made"
    refused(place, words)
    with pytest.raises(PriveeError, match=words):
        PartyLedger.accept_loss(place.address, place.secret, reason="it does not open", actor="me")
    assert stored_version(place) == version
    stored_version(place, "party 1")
    with place.open() as ledger:
        assert codes_of(ledger, "ab") == [1, 2]


def test_what_is_no_partys_ledger_is_called_that(place):
    used(place)
    stored_version(place, "0007")
    refused(place, "something else than a party's ledger")


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-mark"])
def test_a_file_removed_while_it_runs_stops_answers_at_once(in_file, answering, end):
    assert [answering.ask(entity) for entity in "ab"] == ["3", "3"]
    in_file.beside(end).unlink()
    for entity in "ca":
        assert f"ledger.db{end} was removed or replaced: start its server anew" in answering.ask(entity)


def test_a_wal_file_removed_between_a_crash_and_a_restart(in_file, answering):
    assert [answering.ask(entity) for entity in "ab"] == ["3", "3"]
    answering.kill()
    for end in ("-wal", "-shm"):
        in_file.beside(end).unlink()
    refused(in_file, r"lost counts, about 2 charges .* privee party accept-loss")


def test_a_crash_alone_loses_nothing(in_file, answering):
    assert [answering.ask(entity) for entity in "ab"] == ["3", "3"]
    answering.kill()
    with in_file.open() as ledger:
        assert codes_of(ledger, "ab") == [3, 3]


# Put back, doubled


def test_an_old_copy_put_back_over_the_file(in_file, tmp_path):
    used(in_file)
    copied(in_file.file, tmp_path / "copy.db")
    with in_file.open() as ledger:
        pin(ledger, "c", [3])
    shutil.copy(tmp_path / "copy.db", in_file.file)
    refused(in_file, "lost counts, about 1 charges in its last 1 commits")


def test_an_old_folder_put_back_whole(in_file, tmp_path):
    """The mark is as old as the database then; that they are other files is what shows."""
    used(in_file)
    names = ("ledger.db", "ledger.db-mark", "ledger.key")
    (tmp_path / "backup").mkdir()
    for name in names:
        shutil.copy2(tmp_path / name, tmp_path / "backup" / name)
    with in_file.open() as ledger:
        pin(ledger, "c", [3])
    for name in names:
        (tmp_path / "backup" / name).replace(tmp_path / name)
    refused(in_file, r"ledger.db is a copy of the party's ledger")


def test_an_old_folder_put_back_whole_where_numbers_are_used_again(in_file, tmp_path):
    """A file system may give the number of a removed file to the next one."""
    used(in_file)
    shutil.copy(in_file.file, tmp_path / "backup.db")
    shutil.copy(in_file.beside("-mark"), tmp_path / "backup.mark")
    with in_file.open() as ledger:
        pin(ledger, "c", [3])
    number = in_file.file.stat().st_ino
    for backup, file in (("backup.db", in_file.file), ("backup.mark", in_file.beside("-mark"))):
        file.unlink()
        shutil.copy(tmp_path / backup, file)
    if in_file.file.stat().st_ino == number and place_of(in_file.file).endswith(" 0"):
        pytest.skip("this file system does not tell when a file was made")
    refused(in_file, "is a copy of the party's ledger")


def test_which_file_it_is(tmp_path):
    (tmp_path / "a").write_text("a")
    kept = place_of(tmp_path / "a")
    (tmp_path / "a").write_text("b")
    os.utime(tmp_path / "a", (1, 1))
    (tmp_path / "a").rename(tmp_path / "b")
    assert place_of(tmp_path / "b") == kept
    assert is_same(kept, kept)
    number, born = kept.split(" ")
    assert not is_same(kept, f"{number} {int(born) + 1}") or born == "0"
    assert not is_same(kept, f"{int(number) + 1} {born}")
    assert is_same(kept, f"{number} 0")


def test_a_second_server_on_a_copy_does_not_start(in_file, tmp_path):
    used(in_file)
    (tmp_path / "second").mkdir()
    for name in ("ledger.db", "ledger.db-mark", "ledger.key"):
        shutil.copy2(tmp_path / name, tmp_path / "second" / name)
    second = Place(str(tmp_path / "second" / "ledger.db"), tmp_path / "second" / "ledger.key")
    refused(second, "is a copy of the party's ledger, and the first one may have answered since")
    with in_file.open() as ledger:
        assert codes_of(ledger, "ab") == [1, 2]


def test_a_moved_ledger_is_the_same_one(in_file, tmp_path):
    used(in_file)
    (tmp_path / "new").mkdir()
    for name in ("ledger.db", "ledger.db-mark", "ledger.key"):
        (tmp_path / name).rename(tmp_path / "new" / name)
    with Place(str(tmp_path / "new" / "ledger.db"), tmp_path / "new" / "ledger.key").open() as ledger:
        assert codes_of(ledger, "ab") == [1, 2]


def test_an_old_copy_of_a_database_server(postgres, tmp_path):
    place = Place(postgres.new_database(), tmp_path / "ledger.key")
    used(place)
    old = place.address.replace("/test", "/old_test", 1)
    names = [sa.make_url(address).database for address in (old, place.address)]
    postgres.run("CREATE DATABASE {} TEMPLATE {}".format(*names))
    with place.open() as ledger:
        pin(ledger, "c", [3])
    refused(Place(old, place.secret), "lost counts, about 1 charges in its last 1 commits")
    other = tmp_path / "other machine"
    other.mkdir()
    shutil.copy(place.secret, other / "ledger.key")  # a new server has no mark yet
    with Place(place.address, other / "ledger.key").open() as ledger:
        assert codes_of(ledger, "abc") == [1, 2, 3]


def test_a_database_put_back_while_it_runs(place):
    with place.open() as ledger:
        pin(ledger, "ab", [1, 2])
        url = place.address if "://" in place.address else f"sqlite:///{place.address}"
        engine = connect(url)
        with engine.begin() as connection:
            connection.execute(sa.text("UPDATE tally SET commits = 0"))
        engine.dispose()
        with pytest.raises(LedgerUnavailableError, match="lost counts"):
            pin(ledger, "c", [3])
        assert ledger.status().sealed == 2


# The way out


def test_a_loss_is_accepted_with_a_reason(in_file, tmp_path):
    used(in_file)
    copied(in_file.file, tmp_path / "copy.db")
    with in_file.open() as ledger:
        pin(ledger, "c", [3])
    shutil.copy(tmp_path / "copy.db", in_file.file)
    with pytest.raises(PriveeError, match="reason"):
        PartyLedger.accept_loss(in_file.address, in_file.secret, reason="", actor="me")
    with PartyLedger.open(in_file.address, in_file.secret, make=False, lossy=True) as reading:
        assert reading.status().sealed == 2
        with pytest.raises(LedgerUnavailableError, match="lost counts"):
            pin(reading, "a", [1])
    told = PartyLedger.accept_loss(in_file.address, in_file.secret, reason="disk failed", actor="me", spend_all=True)
    assert "lost counts" in told
    with in_file.open(bits=1000) as ledger:
        assert codes_of(ledger, "ab") == [1, 2]
        assert pin(ledger, "abz", 5, OTHER_SEAL).refused.tolist() == [True, True, False]
        (entry,) = [one.as_dict() for one in ledger.chain.entries() if one.act == "ledger.accept-loss"]
        assert ledger.chain.verify().ok
    assert (entry["reason"], entry["actor"]) == ("disk failed", "me")
    assert entry["details"] == {"commits_lost": 1, "charges_lost": 1, "spent": 2}
    with pytest.raises(PriveeError, match="nothing to accept"):
        PartyLedger.accept_loss(in_file.address, in_file.secret, reason="again", actor="me")


def test_a_copy_can_be_gone_on_with_alone(in_file, tmp_path):
    used(in_file)
    for name in ("ledger.db", "ledger.db-mark", "ledger.key"):
        (tmp_path / name).rename(tmp_path / f"old-{name}")
        shutil.copy2(tmp_path / f"old-{name}", tmp_path / name)
    refused(in_file, "is a copy")
    told = PartyLedger.accept_loss(in_file.address, in_file.secret, reason="moved to another machine", actor="me")
    assert "is a copy" in told
    with in_file.open() as ledger:
        assert codes_of(ledger, "ab") == [1, 2]


def test_one_that_is_gone_can_be_given_up(place, request):
    used(place)
    if "://" in place.address:
        request.getfixturevalue("postgres").empty_database()
    else:
        place.file.unlink()
    told = PartyLedger.accept_loss(place.address, place.secret, reason="no copy left", actor="me")
    assert told == "the party's ledger is gone"
    with place.open(releases=1) as ledger:
        assert count(ledger, "a", "x") == [False]
        assert next(entry.act for entry in ledger.chain.entries()) == "ledger.accept-loss"
    with place.open(releases=1) as ledger:
        assert count(ledger, "a", "x") == [True]


def test_other_databases_are_left_alone(in_file):
    with sqlite3.connect(in_file.file) as other:
        other.execute("CREATE TABLE codes (entity)")
    other.close()
    refused(in_file, "put the secret back")
    in_file.secret.touch(mode=0o600)
    in_file.secret.write_bytes(b"k" * 32)
    with pytest.raises(PriveeError, match="holds something else"):
        in_file.open()
    with sqlite3.connect(in_file.file) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("codes",)]
    other.close()


def test_tools_make_nothing(in_file):
    with pytest.raises(PriveeError, match="cannot read the key file"):
        PartyLedger.open(in_file.address, in_file.secret, make=False)
    assert os.listdir(in_file.secret.parent) == []
