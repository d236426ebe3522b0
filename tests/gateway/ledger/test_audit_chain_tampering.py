"""Whatever is done to the audit chain behind its back shows."""

import json

import pytest
import sqlalchemy as sa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privee.durable import audit_chain
from privee.gateway.ledger.schema import audit_log
from tests._support.audit_chain import KEY, OTHER_KEY, ROWS, check, disarm, fill, raw, rewrite, rows_of

COLUMNS = [column.name for column in audit_log.c]


def test_another_key_shows(engine):
    fill(engine)
    found = check(engine, OTHER_KEY)
    assert (found.ok, found.entries, found.first_bad) == (False, 0, 1)
    assert "key" in found.words


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


def test_a_row_that_cannot_be_read_shows(tampered):
    for row in (1, 3):
        with tampered.connect() as connection, connection.begin() as transaction:
            broken = "UPDATE audit_log SET reason = CAST(x'ff' AS TEXT) WHERE seq = :row"
            connection.execute(sa.text(broken), {"row": row})
            found = audit_chain.verify(connection, KEY)
            transaction.rollback()
        assert (found.ok, found.entries, found.first_bad) == (False, row - 1, row)
        assert found.words == f"entry {row} cannot be read"


def test_tampered_rows_can_still_be_shown(tampered):
    with tampered.connect() as connection, connection.begin() as transaction:
        junk = "UPDATE audit_log SET at = 'noon', actor = x'00ff', details = '{', hash = 1.5 WHERE seq = 2"
        connection.execute(sa.text(junk))
        shown = audit_chain.entries(connection)[1].as_dict()
        transaction.rollback()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert (shown["at"], shown["actor"], shown["details"], shown["hash"]) == ("noon", "00ff", "{", "1.5")
