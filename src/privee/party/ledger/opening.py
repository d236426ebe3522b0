"""How a party's ledger is found, made, and checked before it is trusted.

Lost, put back or doubled, a ledger would let a second code be drawn for an entity. So one that is gone while its secret
is there is not made anew, and a SQLite file must be the very file that was made, not a copy of it.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from privee.defenses.secret_keys import read_key
from privee.durable.audit_chain import entries
from privee.durable.database import LedgerUnavailableError, is_sqlite
from privee.durable.losses import Marked, compare
from privee.durable.mark import path_for
from privee.durable.opening import alone, check_key, keep_key, opened_engine
from privee.durable.private_files import check_file, key_file, make_private, path_of
from privee.errors import PriveeError
from privee.party.ledger.keys import PartyKeys, party_keys
from privee.party.ledger.place import is_same, place_of
from privee.party.ledger.schema import APPEND_ONLY, VERSION, about, metadata, tally

_VERSION, _PLACE = "version", "place"
_ELSE = "this database holds something else than a party's ledger"
_WAY_OUT = "put back its newest copy, or go on without with privee party accept-loss"


class Opened(NamedTuple):
    """A sound ledger of this party's secret.

    Attributes:
        marked: on its database, with its mark.
        keys: of the secret.
        latest: the latest time written in it.
        lost: that something is missing in it, or that it is a copy, in words.
    """

    marked: Marked
    keys: PartyKeys
    latest: int
    lost: str | None


def open_checked(address: str | Path, secret: Path, *, make: bool, anew: bool = False) -> Opened:
    """Open a ledger, and make it if there never was one.

    Args:
        address: a SQLite file, or the address of a database.
        secret: file of the party's secret.
        make: whether to make one where neither secret nor ledger is; otherwise there must be one.
        anew: make one though the secret is there: the former is lost, and that was accepted.
    """
    url = url_of(address)
    with contextlib.ExitStack() as stack:
        is_new = make and not secret.exists()
        engine = stack.enter_context(opened_engine(url, keep=True))
        if is_new:
            _refuse_leftovers(engine, secret)
            stack.enter_context(key_file(secret))
        keys = party_keys(read_key(secret))
        if is_new or (anew and not is_there(engine)):
            _make(engine, keys)
        return _checked(engine, keys, secret)


def url_of(address: str | Path) -> sa.URL:
    """Of a file, or of a database."""
    if isinstance(address, str) and "://" in address:
        try:
            return sa.make_url(address)
        except sa.exc.ArgumentError:
            raise PriveeError("a party's ledger is a SQLite file, or like postgresql://user@host/name") from None
    return sa.URL.create("sqlite", database=str(address))


def move_in(connection: sa.Connection, engine: sa.Engine) -> None:
    """From now on this file is the ledger."""
    if is_sqlite(engine):
        connection.execute(sa.update(about).where(about.c.name == _PLACE).values(value=place_of(path_of(engine))))


def _checked(engine: sa.Engine, keys: PartyKeys, secret: Path) -> Opened:
    if not is_there(engine):
        raise LedgerUnavailableError(
            f"the party's ledger {_name(engine)} is gone, but its secret {secret.name} is there, so it gave answers "
            f"that nobody knows any more: {_WAY_OUT}"
        )
    if is_sqlite(engine):
        check_file(engine)
    marked = marked_by(engine, keys, secret)
    with engine.execution_options(reads=True).connect() as connection:
        if not sa.inspect(connection).has_table(about.name):
            raise PriveeError(_ELSE)
        held = {row.name: row.value for row in connection.execute(sa.select(about))}
        _check_version(held.get(_VERSION, ""))
        check_key(connection, keys)
        latest = max((entry.at for entry in entries(connection, last=1)), default=0)
    kept, lost = compare(marked)
    if lost is None and is_sqlite(engine) and not is_same(held.get(_PLACE, "- 0"), place_of(path_of(engine))):
        lost = (
            f"{_name(engine)} is a copy of the party's ledger, and the first one may have answered since: use that "
            "one, or end it and go on with this one alone with privee party accept-loss"
        )
    return Opened(marked, keys, max(latest, kept.at if kept else 0), lost)


def _check_version(found: str) -> None:
    """Tables of another version are left as they are: counting in them wrongly could allow a second code."""
    if found == VERSION:
        return
    if not re.fullmatch(r"party [0-9]{1,9}", found):
        raise PriveeError(_ELSE)
    raise PriveeError(
        f"this party's ledger has tables of version {found!r}, and this privee knows {VERSION!r} alone: go on with the "
        "privee that made it, or a newer one"
    )


def marked_by(engine: sa.Engine, keys: PartyKeys, secret: Path) -> Marked:
    """SQLite's mark is beside its file. PostgreSQL's is beside the secret: how far this server knows it."""
    if is_sqlite(engine):
        return Marked.beside(engine, keys.mark)
    return Marked(engine, secret.absolute().with_name(f"{secret.name}-mark"), keys.mark, secret)


def _make(engine: sa.Engine, keys: PartyKeys) -> None:
    if is_sqlite(engine):
        make_private(engine)
        check_file(engine, new=True)
    with alone(engine) as connection:
        taken = set(sa.inspect(connection).get_table_names()) & set(metadata.tables)
        if taken:
            raise PriveeError(
                f"this database has a table {min(taken)} already: give the party's ledger a database of its own, or "
                "the secret that it was made with"
            )
        metadata.create_all(connection)
        for statement in APPEND_ONLY[engine.dialect.name]:
            connection.execute(sa.text(statement))
        connection.execute(sa.insert(tally).values(one=1, commits=0, charged=0, marked=0))
        rows = {_VERSION: VERSION} | ({_PLACE: place_of(path_of(engine))} if is_sqlite(engine) else {})
        connection.execute(sa.insert(about), [{"name": name, "value": value} for name, value in rows.items()])
        keep_key(connection, keys)
    if is_sqlite(engine):  # its tables are not lost with the -wal file
        with contextlib.closing(engine.raw_connection()) as raw:
            raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _refuse_leftovers(engine: sa.Engine, secret: Path) -> None:
    """Without its secret a ledger is of no use, and a new secret would hide that."""
    if is_sqlite(engine):
        found = [path.name for path in (path_of(engine), path_for(engine)) if path.exists()]
    else:
        found = [_name(engine)] if is_there(engine) else []
    if found:
        raise PriveeError(
            f"there is {found[0]} of a party's ledger, but not its secret {secret}: put the secret back, without it "
            "the ledger cannot be used"
        )


def is_there(engine: sa.Engine) -> bool:
    """Whether there is a database, and anything in it."""
    if is_sqlite(engine) and not path_of(engine).is_file():
        return False
    with engine.execution_options(reads=True).connect() as connection:
        return bool(sa.inspect(connection).get_table_names())


def _name(engine: sa.Engine) -> str:
    return path_of(engine).name if is_sqlite(engine) else "in the database"
