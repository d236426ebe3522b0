"""A trained run with certificates, and gateways in the test's own process."""

from pathlib import Path

import pytest

from privee.gateway.demo import make_world
from tests._support.local_gateway import Local
from tests._support.warm_servers import warm_servers


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """A trained run with certificates, for all gateways that start in the test's own process."""
    place = tmp_path_factory.mktemp("ui")
    make_world(place, epochs=3)
    return place


@pytest.fixture
def local(folder, tmp_path):
    with Local(folder, tmp_path) as found:
        yield found


@pytest.fixture(scope="session", autouse=True)
def servers():
    """Started the quick way."""
    with warm_servers():
        yield
