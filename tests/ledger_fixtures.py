"""Ledgers for tests: the fixtures `url`, `sqlite_url`, `open_ledger` and `ledger`, and their tables alone: `engine`.

Import the functions below. They have other names than their fixtures, so that no test's argument hides an import.
Whoever imports `new_url` imports `postgres` and `postgres_url` of tests.postgres_server too, and whoever imports
`new_engine` imports `new_postgres_ledger` and `postgres`.
"""

import pytest
import sqlalchemy as sa

from privee.gateway.ledger.database import connect
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.schema import api_keys, audit_log
from tests.ledger_cases import FIFTY, KEY


@pytest.fixture(name="url", params=["sqlite", "postgresql"])
def new_url(request, tmp_path):
    address = f"sqlite:///{tmp_path / 'l.db'}" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    Ledger.create(address, KEY)
    return address


@pytest.fixture(name="sqlite_url")
def new_sqlite_url(tmp_path):
    Ledger.create(f"sqlite:///{tmp_path / 'l.db'}", KEY)
    return f"sqlite:///{tmp_path / 'l.db'}"


@pytest.fixture(name="open_ledger")
def opening():
    """Opens ledgers and closes them at the end."""
    opened = []

    def opener(url, limits=FIFTY, clock=None):
        opened.append(Ledger.open(url, KEY, limits=limits, clock=clock))
        return opened[-1]

    yield opener
    for ledger in opened:
        ledger.close()


@pytest.fixture(name="ledger")
def new_ledger(url, open_ledger):
    return open_ledger(url)


@pytest.fixture(name="postgres_ledger", scope="module")
def new_postgres_ledger(request):
    url = request.getfixturevalue("postgres").new_database()
    Ledger.create(url, KEY)
    return url


@pytest.fixture(name="engine", params=["sqlite", "postgresql"])
def new_engine(request, tmp_path):
    """An empty ledger's tables; PostgreSQL's are made once and emptied, which is quicker."""
    if request.param == "sqlite":
        Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}", KEY)
        made = connect(f"sqlite:///{tmp_path / 'ledger.db'}")
    else:
        made = connect(request.getfixturevalue("postgres_ledger"))
        _empty(made)
    yield made
    made.dispose()


def _empty(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE audit_log DISABLE TRIGGER USER"))
        for table in (audit_log, api_keys):
            connection.execute(sa.delete(table))
        connection.execute(sa.text("ALTER TABLE audit_log ENABLE TRIGGER USER"))
