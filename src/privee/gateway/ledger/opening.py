"""How a ledger is made, brought up to date and checked before it is trusted."""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import Iterator
from typing import NamedTuple

import sqlalchemy as sa

from privee.errors import PriveeError
from privee.gateway.ledger import migrate
from privee.gateway.ledger.engine import connect, is_sqlite
from privee.gateway.ledger.files import check_file, make_private
from privee.gateway.ledger.losses import compare
from privee.gateway.ledger.schema import about, audit_log, releases
from privee.gateway.ledger.secrets import Subkeys
from privee.gateway.ledger.trouble import clear_errors

_CHECK = "key_check"
_TIMES = (sa.select(sa.func.max(releases.c.at)), sa.select(audit_log.c.at).order_by(audit_log.c.seq.desc()).limit(1))
_LOCK = 0x707269766565  # PostgreSQL: the number of the lock for changes to the tables


def create(url: str, keys: Subkeys) -> None:
    """Make all tables, and store what tells this key from others."""
    with _engine(url) as engine:
        if is_sqlite(engine):
            make_private(engine)
            check_file(engine, new=True)
        with _alone(engine) as connection:
            migrate.upgrade(connection)
            if _stored_check(connection) is None:
                connection.execute(sa.insert(about).values(name=_CHECK, value=keys.check.hex()))
            _check_key(connection, keys)


def upgrade(url: str) -> None:
    """Take the steps that are missing, all or none."""
    with _engine(url) as engine:
        if is_sqlite(engine):
            check_file(engine)
        with _alone(engine) as connection:
            if migrate.current(connection) is not None:
                migrate.upgrade(connection)
            migrate.check(connection)


class Opened(NamedTuple):
    """A sound ledger made with the key that was given.

    Attributes:
        engine: on its database.
        latest: the latest time written in it.
        lost: that counts are missing, or that nobody could tell, in words; SQLite alone.
    """

    engine: sa.Engine
    latest: int
    lost: str | None


def open_checked(url: str, keys: Subkeys) -> Opened:
    """Open a ledger, if nothing but counts may be missing in it."""
    with _engine(url, keep=True) as engine:
        if is_sqlite(engine):
            check_file(engine)
        with engine.execution_options(reads=True).connect() as connection:
            migrate.check(connection)
            _check_key(connection, keys)
            times = [connection.execute(query).scalar() for query in _TIMES]
            latest = max((time for time in times if isinstance(time, int)), default=0)
        kept, lost = compare(engine, keys) if is_sqlite(engine) else (None, None)
        return Opened(engine, max(latest, kept.at if kept else 0), lost)


@contextlib.contextmanager
def _engine(url: str, *, keep: bool = False) -> Iterator[sa.Engine]:
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
def _alone(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that no other one here runs beside; SQLite's are so by themselves."""
    with engine.begin() as connection:
        if not is_sqlite(engine):
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        yield connection


def _stored_check(connection: sa.Connection) -> str | None:
    return connection.execute(sa.select(about.c.value).where(about.c.name == _CHECK)).scalar()


def _check_key(connection: sa.Connection, keys: Subkeys) -> None:
    if not hmac.compare_digest(_stored_check(connection) or "", keys.check.hex()):
        raise PriveeError("this ledger was made with another key: give it that one")
