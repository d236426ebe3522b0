"""Who changed what: an append-only log in which the hash of each entry, made with a secret key, covers the one before.

Without the key no entry can be changed, removed, moved or slipped in unnoticed. Two things the log alone cannot show:
that its last entries were cut off, and that somebody who has the key wrote it anew. Both show against an earlier
count and head that was kept elsewhere (`verify(..., expect=...)`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

from privee.durable.database import clear_errors
from privee.durable.tables import audit_log, tally
from privee.errors import PriveeError

ACTOR, ACT, SUBJECT, REASON = 128, 64, 128, 1000  # longest texts
START = bytes(32)  # what stands before the first entry
_TAMPERED = "the audit log was tampered with: privee ledger verify (of a party: privee party verify) tells more"
_PURPOSE = b"privee audit chain 1\n"
# PostgreSQL: appenders queue for this lock, and read the newest entry only once nobody else appends.
_TURN = f"SELECT pg_advisory_xact_lock({0x70726976656561})"
_TYPES = (int, int, str, str, str, str, str, bytes, bytes)


class Entry(NamedTuple):
    """One row as it is stored; `details` is JSON text."""

    seq: int
    at: int
    actor: str
    act: str
    subject: str
    reason: str
    details: str
    previous: bytes
    hash: bytes

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, also of a row that somebody tampered with."""
        plain = {name: _plain(value) for name, value in self._asdict().items()}
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            plain["details"] = json.loads(self.details, parse_constant=str)
        return plain


_COLUMNS = ", ".join(Entry._fields)
_SELECT = f"SELECT {_COLUMNS} FROM audit_log ORDER BY seq"  # noqa: S608 - constants alone


@dataclasses.dataclass(frozen=True)
class Verification:
    """What a check of the chain found.

    Attributes:
        ok: every entry holds, and what was expected is there.
        entries: how many hold, from the first on.
        head: the hash of the last of them, in hex; keep it with `entries` where the ledger's host cannot write.
        first_bad: number of the first entry that does not hold or is missing.
        words: the same in one line.
    """

    ok: bool
    entries: int
    head: str
    first_bad: int | None
    words: str


class Chain:
    """The log of one ledger, for reading.

    Args:
        engine: connections to the ledger's database.
        chain_key: a subkey of the ledger's key, `Ledger.chain_key`.
    """

    def __init__(self, engine: sa.Engine, chain_key: bytes) -> None:
        self._reading, self._chain_key = engine.execution_options(reads=True), chain_key

    def verify(self, expect: tuple[int, str] | None = None) -> Verification:
        """Check every entry, see `verify`."""
        with clear_errors(), self._reading.connect() as connection:
            return verify(connection, self._chain_key, expect=expect)

    def entries(self, last: int = 50) -> list[Entry]:
        """The newest entries, oldest first. They are not verified."""
        with clear_errors(), self._reading.connect() as connection:
            return entries(connection, last)

    def entries_before(self, seq: int, count: int) -> list[Entry]:
        """So many entries with smaller numbers, the newest first. They are not verified."""
        with clear_errors(), self._reading.connect() as connection:
            query = f"SELECT {_COLUMNS} FROM audit_log WHERE seq < :seq ORDER BY seq DESC LIMIT :count"  # noqa: S608
            return [Entry(*row) for row in connection.execute(sa.text(query), {"seq": seq, "count": count})]


def append(
    connection: sa.Connection,
    chain_key: bytes,
    *,
    at: int,
    actor: str,
    act: str,
    subject: str,
    reason: str,
    details: Mapping[str, Any],
) -> None:
    """Add an entry in the caller's transaction, best as its last statement: other appenders wait until it ends."""
    texts = _texts(actor, act, subject, reason, details)
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyhow
        connection.execute(sa.text(_TURN))
    entry = _next(chain_key, entries(connection, last=1), at, texts)
    connection.execute(sa.insert(audit_log).values(entry._asdict()))
    if connection.dialect.name == "sqlite":
        connection.execute(sa.update(tally).values(commits=tally.c.commits + 1))


def append_by(
    cursor: Any,
    mark: str,
    chain_key: bytes,
    *,
    at: int,
    actor: str,
    act: str,
    subject: str,
    reason: str,
    details: Mapping[str, Any],
) -> None:
    """The same with a driver's cursor, which marks parameters so; whoever calls it counts the commit."""
    texts = _texts(actor, act, subject, reason, details)
    if mark != "?":
        cursor.execute(_TURN)
    cursor.execute(f"{_SELECT} DESC LIMIT 1")
    entry = _next(chain_key, [Entry(*row) for row in cursor.fetchall()], at, texts)
    marks = ", ".join([mark] * len(entry))
    cursor.execute(f"INSERT INTO audit_log ({_COLUMNS}) VALUES ({marks})", list(entry))  # noqa: S608 - constants alone


def verify(connection: sa.Connection, chain_key: bytes, *, expect: tuple[int, str] | None = None) -> Verification:
    """Check every entry, and with `expect` (count, head) that the log still holds what it held at that count."""
    count, head = 0, START
    kept = {0: head}
    for row in _rows(connection):
        if not _holds(chain_key, row, count + 1, head):
            return Verification(False, count, head.hex(), count + 1, _fault(row, count + 1))
        count, head = count + 1, row[-1]
        if expect and count == expect[0]:
            kept[count] = head
    first_bad, words = (None, f"all {count} entries hold") if expect is None else _compare(expect, kept, count)
    return Verification(first_bad is None, count, head.hex(), first_bad, words)


def parse_expect(text: str) -> tuple[int, str]:
    """`ENTRIES:HEAD` as `verify` takes it."""
    found = re.fullmatch(r"([0-9]{1,18}):([0-9a-fA-F]{64})", text.strip())
    if found is None:
        raise PriveeError("expected ENTRIES:HEAD as a former `privee ledger verify` printed it, such as 12:9f86...")
    return int(found[1]), found[2].lower()


def entries(connection: sa.Connection, last: int = 50) -> list[Entry]:
    """The newest entries, oldest first. For display: they are not verified."""
    newest = connection.execute(sa.text(f"{_SELECT} DESC LIMIT :last"), {"last": max(last, 0)})
    return [Entry(*row) for row in reversed(newest.all())]


def check_text(text: str, what: str, longest: int, *, empty: bool = False) -> str:
    """The text without blanks around it, if it is short, on one line and free of invisible characters."""
    if not isinstance(text, str) or not (text := text.strip()).isprintable():
        raise PriveeError(f"{what} must be text on one line, without control characters")
    if len(text) > longest or not (text or empty):
        raise PriveeError(f"{what} must have {0 if empty else 1} to {longest} characters")
    return text


def _texts(actor: str, act: str, subject: str, reason: str, details: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        check_text(actor, "actor", ACTOR),
        check_text(act, "act", ACT),
        check_text(subject, "subject", SUBJECT),
        check_text(reason, "reason", REASON, empty=True),
        json.dumps(dict(details), sort_keys=True, separators=(",", ":"), allow_nan=False),
    )


def _next(chain_key: bytes, newest: Sequence[Entry], at: int, texts: tuple[str, ...]) -> Entry:
    seq, previous = _end(newest)
    row: tuple[Any, ...] = (seq + 1, int(at), *texts, previous)
    return Entry._make((*row, _hash(chain_key, row)))


def _end(newest: Sequence[Entry]) -> tuple[int, bytes]:
    for row in newest:
        if tuple(map(type, row)) != _TYPES or not 0 < row.seq < 2**62:
            raise PriveeError(_TAMPERED)
        return row.seq, row.hash
    return 0, START


def _hash(chain_key: bytes, row: Sequence[Any]) -> bytes:
    """Of all columns but the hash itself, as JSON: text that moves from one column to the next changes it."""
    *plain, previous = row
    message = json.dumps([*plain, previous.hex()], separators=(",", ":")).encode()
    return hmac.digest(chain_key, _PURPOSE + message, hashlib.sha256)


def _rows(connection: sa.Connection) -> Iterator[Sequence[Any]]:
    """Every row as the driver gives it, since in SQLite a column may hold anything; () for one that cannot be read."""
    try:
        with connection.execute(sa.text(_SELECT), execution_options={"stream_results": True}) as found:
            yield from iter(found.fetchone, None)
    except exc.DBAPIError as error:
        # Without a name it is Python's own: text that is not UTF-8.
        name = getattr(error.orig, "sqlite_errorname", "SQLITE_CORRUPT")
        if connection.dialect.name != "sqlite" or not name.startswith("SQLITE_CORRUPT"):
            raise
        yield ()


def _holds(chain_key: bytes, row: Sequence[Any], seq: int, previous: bytes) -> bool:
    if tuple(map(type, row)) != _TYPES or row[0] != seq or row[-2] != previous:
        return False
    return hmac.compare_digest(_hash(chain_key, row[:-1]), row[-1])


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value if isinstance(value, int | str) else str(value)


def _fault(row: Sequence[Any], seq: int) -> str:
    if not row:
        return f"entry {seq} cannot be read"
    if type(row[0]) is int and row[0] > seq:
        return f"entry {seq} is missing"
    if seq == 1:
        return "entry 1 does not hold: it was changed or slipped in, or the key is another one"
    return f"entry {seq} does not hold: it was changed, moved or slipped in"


def _compare(expect: tuple[int, str], kept: Mapping[int, bytes], count: int) -> tuple[int | None, str]:
    number, head = expect
    if number not in kept:
        return count + 1, f"the log has {count} entries but had {number}: its end was removed"
    if not hmac.compare_digest(kept[number].hex().encode(), head.lower().encode()):
        return number, f"entry {number} is not the one that was there: the log was written anew, or the head mistyped"
    return None, f"all {count} entries hold, and the first {number} are those that were there"
