"""Ledgers for tests, in both kinds of database, and their tables alone."""

import pytest
import sqlalchemy as sa

from privee.durable.database import connect
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.schema import api_keys, audit_log
from tests._support.audit_chain import disarm, fill
from tests._support.ledger_cases import FIFTY, KEY


@pytest.fixture
def sqlite_url(tmp_path):
    Ledger.create(f"sqlite:///{tmp_path / 'l.db'}", KEY)
    return f"sqlite:///{tmp_path / 'l.db'}"


@pytest.fixture
def open_ledger():
    """Opens ledgers and closes them at the end."""
    opened = []

    def opener(url, limits=FIFTY, clock=None):
        opened.append(Ledger.open(url, KEY, limits=limits, clock=clock))
        return opened[-1]

    yield opener
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(url, open_ledger):
    return open_ledger(url)


@pytest.fixture(scope="session")
def postgres_ledger(postgres):
    url = postgres.new_database()
    Ledger.create(url, KEY)
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request, tmp_path):
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
