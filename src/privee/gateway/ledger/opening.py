"""How a ledger is made, brought up to date and checked before it is trusted.

Its tables are made with Alembic; the steps are in `migrations/versions`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from privee.durable.database import is_sqlite
from privee.durable.losses import Marked, compare
from privee.durable.opening import alone, check_key, keep_key, opened_engine
from privee.durable.private_files import check_file, make_private
from privee.errors import PriveeError
from privee.gateway.ledger.schema import audit_log, metadata, releases
from privee.gateway.ledger.secrets import Subkeys

_TIMES = (sa.select(sa.func.max(releases.c.at)), sa.select(audit_log.c.at).order_by(audit_log.c.seq.desc()).limit(1))


def create(url: str, keys: Subkeys) -> None:
    """Make all tables, and store what tells this key from others."""
    with opened_engine(url) as engine:
        if is_sqlite(engine):
            make_private(engine)
            check_file(engine, new=True)
        with alone(engine) as connection:
            upgrade_tables(connection)
            keep_key(connection, keys)


def upgrade(url: str) -> None:
    """Take the steps that are missing, all or none."""
    with opened_engine(url) as engine:
        if is_sqlite(engine):
            check_file(engine)
        with alone(engine) as connection:
            if current(connection) is not None:
                upgrade_tables(connection)
            check(connection)


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
    with opened_engine(url, keep=True) as engine:
        if is_sqlite(engine):
            check_file(engine)
        with engine.execution_options(reads=True).connect() as connection:
            check(connection)
            check_key(connection, keys)
            times = [connection.execute(query).scalar() for query in _TIMES]
            latest = max((time for time in times if isinstance(time, int)), default=0)
        kept, lost = compare(Marked.beside(engine, keys.mark)) if is_sqlite(engine) else (None, None)
        return Opened(engine, max(latest, kept.at if kept else 0), lost)


_FOLDER = Path(__file__).parent / "migrations"


def upgrade_tables(connection: sa.Connection) -> None:
    """Take every step that is missing, in the caller's transaction; an empty database gets all tables."""
    found = current(connection)
    if found is None:
        taken = sorted(set(sa.inspect(connection).get_table_names()) & set(metadata.tables))
        if taken:
            raise PriveeError(
                f"this database has a table {taken[0]} of something else: give the ledger its own database"
            )
    elif not _is_known(found):
        raise PriveeError(_NEWER)
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def current(connection: sa.Connection) -> str | None:
    """The last step taken; None if the database holds no ledger."""
    return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """The last step there is."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def check(connection: sa.Connection) -> None:
    """Refuse a database that this privee was not made for."""
    found = current(connection)
    if found is None:
        raise PriveeError("this database holds no ledger: privee ledger init makes one")
    if found != head():
        raise PriveeError(_OLDER if _is_known(found) else _NEWER)


_OLDER = "this ledger was made by an older privee: run privee ledger upgrade"
_NEWER = "this ledger was made by a newer privee: install that one"


def _is_known(revision: str) -> bool:
    try:
        return ScriptDirectory.from_config(_config()).get_revision(revision) is not None
    except CommandError:
        return False


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    return config
