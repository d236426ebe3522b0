"""The audit chain: whatever is done to it behind its back shows, and honest use never breaks it."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import privee
from privee.gateway.ledger import audit_chain
from privee.gateway.ledger.database import connect
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.schema import audit_log
from tests.ledger_fixtures import new_engine, new_postgres_ledger  # noqa: F401 - fixtures
from tests.postgres_server import postgres  # noqa: F401 - a fixture

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
ROWS = 6
GOOD = {"at": 1, "actor": "a", "act": "b", "subject": "c", "reason": "d", "details": {}}
COLUMNS = [column.name for column in audit_log.c]


def disarm(engine: sa.Engine) -> None:
    """Take the triggers away, as somebody can who owns the database."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("ALTER TABLE audit_log DISABLE TRIGGER USER"))
            return
        named = sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_log'")
        for name in connection.execute(named).scalars().all():
            connection.execute(sa.text(f"DROP TRIGGER {name}"))


def fill(engine: sa.Engine, count: int = ROWS, user: str = "user") -> None:
    with engine.begin() as connection:
        for number in range(1, count + 1):
            audit_chain.append(
                connection,
                KEY,
                at=1000 + number,
                actor=f"cli:{user}{number}",
                act="key.create",
                subject=f"{number:08x}",
                reason=f"because of {number}",
                details={"role": "consumer", "number": number},
            )


def check(engine: sa.Engine, key: bytes = KEY, **expect) -> audit_chain.Verification:
    with engine.connect() as connection:
        return audit_chain.verify(connection, key, **expect)


def raw(connection: sa.Connection) -> list[tuple]:
    """All rows with their types, as stored."""
    return [tuple(row) for row in connection.execute(sa.text("SELECT * FROM audit_log ORDER BY seq"))]


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


def test_another_key_shows(engine):
    fill(engine)
    found = check(engine, OTHER_KEY)
    assert (found.ok, found.entries, found.first_bad) == (False, 0, 1)
    assert "key" in found.words


@pytest.fixture(scope="module")
def tampered(tmp_path_factory):
    """A filled chain without its triggers, as somebody has it who can write to the file."""
    url = f"sqlite:///{tmp_path_factory.mktemp('chain') / 'ledger.db'}"
    Ledger.create(url, KEY)
    engine = connect(url)
    fill(engine)
    disarm(engine)
    yield engine
    engine.dispose()


WHOLE = st.integers(-(2**63), 2**63 - 1)
ANYTHING = st.one_of(
    st.text(max_size=20), st.binary(max_size=40), WHOLE, st.floats(allow_nan=False), st.just(""), st.just(b"")
)


@st.composite
def changes(draw) -> tuple[int, str, object]:
    """A row, a column and a new value: near to the old one, of the same type, or anything SQLite would store."""
    row, column = draw(st.integers(1, ROWS)), draw(st.sampled_from(COLUMNS))
    return row, column, draw(st.one_of(ANYTHING, st.integers(-2, 2000), st.integers(0, 255).map(lambda n: (n,))))


def near(old: object, by: int) -> object:
    """One bit of it, or one letter, is another."""
    if isinstance(old, int):
        return old ^ (1 << by % 62)
    if isinstance(old, str):
        return old[: by % (len(old) + 1)] + chr(33 + by % 90) + old[by % (len(old) + 1) + 1 :]
    flipped = bytearray(old)
    flipped[by // 8] ^= 1 << by % 8
    return bytes(flipped)


@settings(max_examples=400)
@given(change=changes())
def test_any_change_of_any_field_of_any_row_shows(tampered, change):
    row, column, value = change
    with tampered.connect() as connection, connection.begin() as transaction:
        before = raw(connection)
        value = near(before[row - 1][COLUMNS.index(column)], *value) if isinstance(value, tuple) else value
        try:
            update = f"UPDATE audit_log SET {column} = :value WHERE seq = :row"  # noqa: S608
            connection.execute(sa.text(update), {"value": value, "row": row})
        except sa.exc.IntegrityError:  # another row has that number
            assume(False)
        after = raw(connection)
        found = audit_chain.verify(connection, KEY)
        transaction.rollback()
    assume([(type(v), v) for r in before for v in r] != [(type(v), v) for r in after for v in r])
    assert not found.ok
    assert found.first_bad <= row
    assert found.entries == found.first_bad - 1
    assert column == "seq" or found.first_bad == row


@pytest.mark.parametrize("column", COLUMNS)
def test_a_change_of_each_column_shows(engine, column):
    """The same on both databases, with the least change there is."""
    fill(engine)
    disarm(engine)
    old = rows_of(engine)[3][column]
    with engine.begin() as connection:
        change = sa.update(audit_log).where(audit_log.c.seq == 4).values({column: near(old, 3)})
        connection.execute(change)
    assert rows_of(engine)[3][column] != old
    found = check(engine)
    assert (found.ok, found.entries, found.first_bad) == (False, 3, 4)


def rewrite(engine: sa.Engine, rows: list[dict]) -> None:
    """Put these rows in place of all, with numbers that follow on each other."""
    with engine.begin() as connection:
        connection.execute(sa.delete(audit_log))
        numbered = [row | {"seq": number} for number, row in enumerate(rows, 1)]
        connection.execute(sa.insert(audit_log), numbered)


def rows_of(engine: sa.Engine) -> list[dict]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(sa.select(audit_log).order_by(audit_log.c.seq)).mappings()]


@pytest.mark.parametrize("place", [1, 3, ROWS - 1])
@pytest.mark.parametrize("renumbered", [True, False])
def test_a_removed_row_shows(engine, place, renumbered):
    fill(engine)
    disarm(engine)
    if renumbered:
        rows = rows_of(engine)
        del rows[place - 1]
        rewrite(engine, rows)
    else:
        with engine.begin() as connection:
            connection.execute(sa.delete(audit_log).where(audit_log.c.seq == place))
    found = check(engine)
    assert (found.ok, found.entries, found.first_bad) == (False, place - 1, place)
    assert renumbered or found.words == f"entry {place} is missing"


@pytest.mark.parametrize(("one", "other"), [(1, 2), (3, 4), (2, 5), (5, 6)])
def test_rows_in_another_order_show(engine, one, other):
    fill(engine)
    disarm(engine)
    rows = rows_of(engine)
    rows[one - 1], rows[other - 1] = rows[other - 1], rows[one - 1]
    rewrite(engine, rows)
    assert (check(engine).ok, check(engine).first_bad) == (False, one)


@pytest.mark.parametrize("place", [1, 3, ROWS, ROWS + 1])
@pytest.mark.parametrize("forged", [True, False])
def test_an_inserted_row_shows(engine, place, forged):
    """A row of the same log again, or one made for this very place with another key."""
    fill(engine)
    disarm(engine)
    rows = rows_of(engine)
    if forged:
        rows = rows[: place - 1]
        rewrite(engine, rows) if rows else rewrite_nothing(engine)
        with engine.begin() as connection:
            forge = {"actor": "cli:eve", "act": "key.create", "subject": "x", "reason": "", "details": {}}
            audit_chain.append(connection, OTHER_KEY, at=5, **forge)
    else:
        rewrite(engine, [*rows[: place - 1], rows[1], *rows[place - 1 :]])
    found = check(engine)
    assert (found.ok, found.first_bad) == (False, 3 if not forged and place == 3 else place)


def rewrite_nothing(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.delete(audit_log))


@pytest.mark.parametrize("left", [0, 1, ROWS - 1])
def test_a_removed_end_shows_against_a_kept_head(engine, left):
    fill(engine)
    kept = (check(engine).entries, check(engine).head)
    assert check(engine, expect=kept).ok
    disarm(engine)
    with engine.begin() as connection:
        connection.execute(sa.delete(audit_log).where(audit_log.c.seq > left))
    assert check(engine).ok  # the log alone cannot know
    found = check(engine, expect=kept)
    assert (found.ok, found.entries, found.first_bad) == (False, left, left + 1)
    assert "removed" in found.words
    fill(engine, ROWS, "other")  # ... also when it has grown again
    assert check(engine).ok
    found = check(engine, expect=kept)
    assert (found.ok, found.first_bad) == (False, ROWS)


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


def test_a_row_that_cannot_be_read_shows(tampered):
    for row in (1, 3):
        with tampered.connect() as connection, connection.begin() as transaction:
            broken = "UPDATE audit_log SET reason = CAST(x'ff' AS TEXT) WHERE seq = :row"
            connection.execute(sa.text(broken), {"row": row})
            found = audit_chain.verify(connection, KEY)
            transaction.rollback()
        assert (found.ok, found.entries, found.first_bad) == (False, row - 1, row)
        assert found.words == f"entry {row} cannot be read"


@pytest.mark.parametrize("seq", ["'zz'", str(2**63 - 1)])
def test_a_log_that_cannot_go_on_says_so(tampered, seq):
    with tampered.connect() as connection, connection.begin() as transaction:
        connection.execute(sa.text(f"UPDATE audit_log SET seq = {seq} WHERE seq = {ROWS}"))  # noqa: S608
        with pytest.raises(privee.PriveeError, match="tampered with: privee ledger verify"):
            audit_chain.append(connection, KEY, **GOOD)
        transaction.rollback()


def test_tampered_rows_can_still_be_shown(tampered):
    with tampered.connect() as connection, connection.begin() as transaction:
        junk = "UPDATE audit_log SET at = 'noon', actor = x'00ff', details = '{', hash = 1.5 WHERE seq = 2"
        connection.execute(sa.text(junk))
        shown = audit_chain.entries(connection)[1].as_dict()
        transaction.rollback()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert (shown["at"], shown["actor"], shown["details"], shown["hash"]) == ("noon", "00ff", "{", "1.5")


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
