"""Ledgers for tests: the fixtures `url`, `sqlite_url`, `open_ledger` and `ledger`.

Import the functions below. They have other names than their fixtures, so that no test's argument hides an import.
Whoever imports `new_url` imports `postgres` and `postgres_url` of tests.postgres_server too.
"""

import pytest

from privee.gateway.ledger.ledger import Ledger
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
