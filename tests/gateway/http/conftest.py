"""A gateway with two parties, and others beside it, for all tests of what users see."""

import contextlib

import pytest

from privee.gateway.demo import PARTIES
from tests._support.gateway_world import DEFENSE, Running, gateway_world, infer
from tests._support.hostile_requests import PERSON
from tests._support.marked_world import make_marked_world, start_party

OTHERS = {
    "bare": ("--defense", "none", "--uncounted"),
    "repeatable": ("--defense", "privee-u:rho=0.1", "--repeatable", "--releases", "2", "--variants", "none"),
    "any variant": ("--defense", "privee-u:rho=0.1", "--releases", "3", "--variants", "none"),
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


@pytest.fixture(scope="session")
def marked(tmp_path_factory):
    """A gateway and its twin with TLS, whose entities have marked ids."""
    made = make_marked_world(tmp_path_factory.mktemp("hostile"))
    options = (*DEFENSE, "--releases", "100000", "--deadline", "20")
    with contextlib.ExitStack() as stack:
        parties = {name: start_party(made, name) for name in PARTIES}
        for process in parties.values():
            stack.callback(process.stop)
        addresses = {name: process.wait_ready().ready["address"] for name, process in parties.items()}
        plain, secured = made.gateway(addresses, options), made.gateway(addresses, (*options, "--tls"), name="secured")
        stack.callback(plain.stop)
        stack.callback(secured.stop)
        found = Running(made, plain.wait_ready(), parties)
        found.secured = secured.wait_ready().ready["url"]
        yield found


@pytest.fixture(scope="session")
def release_values():
    """All numbers that were released by the marked gateway."""
    return []


@pytest.fixture
def still_serves(marked, release_values):
    """After the test, whatever it did, the marked gateway answers."""
    yield
    with marked.client() as client:
        answer = infer(client, PERSON)
    assert answer.status_code == 200
    release_values += answer.json()["outputs"][0]["data"]
