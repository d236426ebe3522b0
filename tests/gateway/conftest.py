"""A trained run with certificates, gateways in the test's own process, and ledgers in both kinds of database."""

from pathlib import Path

import pytest

from privee.gateway.demo import make_world
from privee.gateway.ledger.ledger import Ledger
from tests._support.ledger_cases import KEY
from tests._support.local_gateway import Local
from tests._support.sealed_world import EIGHT, PASSIVE, digits_world, expected_scores
from tests._support.warm_servers import warm_servers


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """A trained run with certificates, for all gateways that start in the test's own process."""
    place = tmp_path_factory.mktemp("ui")
    make_world(place, epochs=3)
    return place


@pytest.fixture(scope="session")
def sealed(tmp_path_factory):
    """A trained run whose passive party is sealed with eight codes, and the scores of all its records."""
    world = digits_world(tmp_path_factory.mktemp("sealed"), {PASSIVE: EIGHT})
    return world, expected_scores(world)


@pytest.fixture
def local(folder, tmp_path):
    with Local(folder, tmp_path) as found:
        yield found


@pytest.fixture(scope="session", autouse=True)
def servers():
    """Started the quick way."""
    with warm_servers():
        yield


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """A new ledger, in both kinds of database."""
    address = f"sqlite:///{tmp_path / 'l.db'}" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    Ledger.create(address, KEY)
    return address
