"""What parties serve, without their processes."""

import pytest

from tests._support.party_world import World, make_world
from tests._support.warm_servers import warm_servers


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session", autouse=True)
def servers():
    """Started the quick way."""
    with warm_servers():
        yield
