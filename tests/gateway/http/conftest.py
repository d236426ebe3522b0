"""A gateway with two parties, and others beside it, for all tests of what users see."""

import contextlib

import pytest

from tests._support.gateway_world import gateway_world

OTHERS = {
    "bare": ("--defense", "none", "--uncounted"),
    "repeatable": ("--defense", "privee-u:rho=0.1", "--repeatable", "--releases", "2"),
    "epsilon": ("--defense", "ordered-dp:epsilon=0.5", "--epsilon", "1.6"),
}


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(gateway_world(tmp_path_factory.mktemp("world"), "--releases", "3"))
        more = {name: found.world.gateway(found.addresses, given, name=name) for name, given in OTHERS.items()}
        for gateway in more.values():
            stack.callback(gateway.stop)
        found.others = {name: gateway.wait_ready().ready["url"] for name, gateway in more.items()}
        yield found


@pytest.fixture
def consumer(world):
    with world.client() as client:
        yield client
