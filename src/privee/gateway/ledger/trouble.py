"""What a database says when it cannot work, as one line for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import exc

from privee.errors import PriveeError, UnavailableError

_UNTIL = "nothing is released until then"
_AWAY = "the ledger's database cannot be reached: check that it runs, and its address, name, user and password"
DAMAGED = (
    "the ledger's file is damaged or holds something else: put back its latest copy (a new ledger would forget what "
    "was given away)"
)
_SQLITE = {
    "SQLITE_FULL": f"the ledger's disk is full: make room, {_UNTIL}",
    "SQLITE_IOERR": f"the ledger's disk is full or failed: check it, {_UNTIL}",
    "SQLITE_BUSY": "another process keeps the ledger locked: end it, or use PostgreSQL for several gateways",
    "SQLITE_READONLY": "the ledger's file or folder cannot be written: change its permissions",
    "SQLITE_CANTOPEN": "the ledger's file cannot be opened: check its folder and permissions",
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_NOTADB": DAMAGED,
}
_POSTGRESQL = {
    "25006": "the ledger's database is read only: use the primary server",
    "42501": "the ledger's database does not let this user do that: grant it the rights",
    "53100": f"the disk of the ledger's database is full: make room, {_UNTIL}",
    "55P03": "another process keeps the ledger's database locked: end it",
}


class LedgerUnavailable(UnavailableError):  # noqa: N818 - a state, not a mistake
    """The count cannot be known to be stored, so nothing may be released."""


def unavailable(error: BaseException) -> PriveeError:
    """The error of a driver, or SQLAlchemy's of it, in words."""
    cause = getattr(error, "orig", None) or error
    name = str(getattr(cause, "sqlite_errorname", None) or "")
    state = str(getattr(cause, "sqlstate", None) or "")
    if name == "SQLITE_CONSTRAINT_PRIMARYKEY" or state == "23505":
        return PriveeError("this release id was used before: make a new one for every ask")
    words = _find(_SQLITE, name) or _find(_POSTGRESQL, state)
    if words is None and (name or state):
        words = f"the ledger's database failed with {name or state}: check it, {_UNTIL}"
    return LedgerUnavailable(words or _AWAY)


@contextmanager
def clear_errors() -> Iterator[None]:
    """For work through SQLAlchemy, which may simply be asked for again."""
    try:
        yield
    except (exc.DBAPIError, exc.TimeoutError) as error:
        raise unavailable(error) from None


def _find(words: Mapping[str, str], code: str) -> str | None:
    return next((line for start, line in words.items() if code.startswith(start)), None)
