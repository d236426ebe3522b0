"""How a ledger's database is opened, and told from one of another key."""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import Iterator

import sqlalchemy as sa

from privee.durable.database import clear_errors, connect, is_sqlite
from privee.durable.secrets import LedgerKeys
from privee.durable.tables import about
from privee.errors import PriveeError

_CHECK = "key_check"
_LOCK = 0x707269766565  # PostgreSQL: the number of the lock for changes to the tables


@contextlib.contextmanager
def opened_engine(url: str | sa.URL, *, keep: bool = False) -> Iterator[sa.Engine]:
    """Closed afterwards, unless it is to be kept and all went well; errors are in words."""
    engine = connect(url)
    try:
        with clear_errors():
            yield engine
    except BaseException:
        keep = False
        raise
    finally:
        if not keep:
            engine.dispose()


@contextlib.contextmanager
def alone(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that no other one here runs beside; SQLite's are so by themselves."""
    with engine.begin() as connection:
        if not is_sqlite(engine):
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        yield connection


def keep_key(connection: sa.Connection, keys: LedgerKeys) -> None:
    """Store what tells this key from others, in a ledger that is new; refuse one of another key."""
    if _stored_check(connection) is None:
        connection.execute(sa.insert(about).values(name=_CHECK, value=keys.check.hex()))
    check_key(connection, keys)


def _stored_check(connection: sa.Connection) -> str | None:
    return connection.execute(sa.select(about.c.value).where(about.c.name == _CHECK)).scalar()


def check_key(connection: sa.Connection, keys: LedgerKeys) -> None:
    """Refuse a ledger of another key."""
    if not hmac.compare_digest(_stored_check(connection) or "", keys.check.hex()):
        raise PriveeError("this ledger was made with another key: give it that one")
