"""The audit chain: whatever is done to it behind its back shows, and honest use never breaks it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

import privee
from privee.durable import audit_chain
from privee.durable.database import connect
from privee.gateway.ledger.schema import audit_log
from tests._support.audit_chain import KEY, ROWS, check, fill

GOOD = {"at": 1, "actor": "a", "act": "b", "subject": "c", "reason": "d", "details": {}}


def test_an_honest_chain_holds(engine):
    assert check(engine) == audit_chain.Verification(True, 0, "00" * 32, None, "all 0 entries hold")
    fill(engine)
    found = check(engine)
    assert (found.ok, found.entries, found.first_bad) == (True, ROWS, None)
    with engine.connect() as connection:
        log = audit_chain.entries(connection)
        assert [entry.seq for entry in log] == list(range(1, ROWS + 1))
        assert log[-1].hash.hex() == found.head
        assert [entry.seq for entry in audit_chain.entries(connection, last=2)] == [ROWS - 1, ROWS]
    shown = log[2].as_dict()
    assert shown["details"] == {"role": "consumer", "number": 3}
    assert (shown["actor"], shown["reason"], shown["at"]) == ("cli:user3", "because of 3", 1003)
    assert shown["previous"] == log[1].hash.hex()


def test_the_way_of_hashing_stays(engine):
    """Ledgers that exist must stay verifiable: this head was computed by hand, with openssl dgst -mac HMAC."""
    with engine.begin() as connection:
        audit_chain.append(
            connection, KEY, at=7, actor="cli:ä", act="a", subject="s", reason="", details={"b": 1, "a": None}
        )
    assert check(engine).head == "aef080553f1b5b470e776f3d4e42da00abcc3f789cfd7ed0991a1256a09b1113"


def test_a_kept_head_stays_good_while_the_log_grows(engine):
    kept = []
    for _ in range(3):
        kept.append((check(engine).entries, check(engine).head))
        fill(engine, 2)
    assert [one[0] for one in kept] == [0, 2, 4]
    assert all(check(engine, expect=one).ok for one in kept)
    assert all(check(engine, expect=(number, head.upper())).ok for number, head in kept)
    wrong = check(engine, expect=(2, kept[2][1]))
    assert (wrong.ok, wrong.first_bad) == (False, 2)


def test_expectations_are_read_as_printed():
    assert audit_chain.parse_expect(f" 12:{'AB' * 32}\n") == (12, "ab" * 32)
    for text in ("", "12", ":" + "ab" * 32, "-1:" + "ab" * 32, "12:" + "ab" * 31, "12:" + "zz" * 32):
        with pytest.raises(privee.PriveeError, match="ENTRIES:HEAD"):
            audit_chain.parse_expect(text)


@pytest.mark.parametrize("seq", ["'zz'", str(2**63 - 1)])
def test_a_log_that_cannot_go_on_says_so(tampered, seq):
    with tampered.connect() as connection, connection.begin() as transaction:
        connection.execute(sa.text(f"UPDATE audit_log SET seq = {seq} WHERE seq = {ROWS}"))  # noqa: S608
        with pytest.raises(privee.PriveeError, match="tampered with: privee ledger verify"):
            audit_chain.append(connection, KEY, **GOOD)
        transaction.rollback()


def test_the_chain_of_a_ledger(engine):
    fill(engine)
    chain = audit_chain.Chain(engine, KEY)
    assert chain.verify() == check(engine)
    assert chain.verify((2, "00" * 32)).first_bad == 2
    assert [entry.seq for entry in chain.entries(2)] == [ROWS - 1, ROWS]


def test_a_database_that_does_not_answer_is_not_called_tampered(tmp_path):
    engine = connect(f"sqlite:///{tmp_path / 'missing' / 'ledger.db'}")
    with pytest.raises(privee.PriveeError, match="cannot be opened"):
        audit_chain.Chain(engine, KEY).verify()
    engine.dispose()


def test_appenders_at_once_make_one_chain(engine):
    """Each holds its transaction open for a moment after appending, so that the others must wait for it."""
    start = threading.Barrier(8)

    def work(_: int) -> None:
        start.wait()
        for _ in range(5):
            with engine.begin() as connection:
                audit_chain.append(connection, KEY, at=1, actor="a", act="b", subject="c", reason="", details={})
                time.sleep(0.005)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert (check(engine).ok, check(engine).entries) == (True, 40)


def test_an_act_that_is_taken_back_leaves_no_entry(engine):
    fill(engine, 2)
    with engine.connect() as connection, connection.begin() as transaction:
        audit_chain.append(connection, KEY, at=1, actor="a", act="b", subject="c", reason="", details={})
        transaction.rollback()
    assert (check(engine).ok, check(engine).entries) == (True, 2)


def test_the_database_refuses_changes(engine):
    fill(engine)
    for statement in (sa.delete(audit_log), sa.update(audit_log).values(reason="other")):
        with pytest.raises(sa.exc.DBAPIError), engine.begin() as connection:
            connection.execute(statement.where(audit_log.c.seq == 2))
    assert (check(engine).ok, check(engine).entries) == (True, ROWS)


@pytest.mark.parametrize(
    "bad",
    [
        {"actor": ""},
        {"actor": "a" * 129},
        {"act": "\n"},
        {"act": "a\x00b"},
        {"subject": "s" * 129},
        {"subject": "a\u202eb"},
        {"reason": "a\x1b[2Jb"},
        {"reason": "a\nb"},
        {"reason": "r" * 1001},
        {"reason": "\ud800"},
        {"reason": None},
    ],
)
def test_texts_that_would_mislead_a_reader_are_refused(engine, bad):
    with pytest.raises(privee.PriveeError), engine.begin() as connection:
        audit_chain.append(connection, KEY, **GOOD | bad)
    assert check(engine).entries == 0


def test_odd_but_harmless_entries_hold(engine):
    """What comes back from the database must be what was hashed: other alphabets, quotes, odd details."""
    odd = [
        {"reason": "Kundin bat darum; 'O\"Brien' \\ Ω 漢字 🙂"},
        {"reason": "  "},
        {"details": {"é": [1, 2.5, None, True, "\x00\ud800\n"], "10": {"a": {}}}},
        {"at": 2**62},
        {"at": 7.9},
        {"actor": "a" * 128, "act": "b" * 64, "subject": "ß" * 128, "reason": "🙂" * 1000},
    ]
    for one in odd:
        with engine.begin() as connection:
            audit_chain.append(connection, KEY, **GOOD | one)
    assert (check(engine).ok, check(engine).entries) == (True, len(odd))
    with pytest.raises(ValueError, match="JSON"), engine.begin() as connection:
        audit_chain.append(connection, KEY, **GOOD | {"details": {"x": float("nan")}})
