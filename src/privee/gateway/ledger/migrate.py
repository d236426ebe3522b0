"""The database's tables, made and brought up to date with Alembic; the steps are in `migrations/versions`."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from privee.errors import PriveeError
from privee.gateway.ledger.schema import metadata

_FOLDER = Path(__file__).parent / "migrations"


def upgrade(connection: sa.Connection) -> None:
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
