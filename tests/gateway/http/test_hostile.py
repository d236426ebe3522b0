"""Malformed, huge, slow and hostile requests: each gets a 4xx or a closed connection, and the next one is served.

The entities have marked ids, so that the last test can look for them in every log and file.
"""

import contextlib
import json
import socket
import threading
import time
from urllib.parse import urlsplit

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.specs.openapi import checks as conformance

from privee.gateway.demo import MODEL
from privee.gateway.http import middleware
from privee.gateway.http.connection import HEAD_SECONDS
from tests._support.gateway_world import infer
from tests._support.hostile_requests import BODIES, HEADS, INFER, MIB, ONE, PERSON, text
from tests._support.marked_world import person
from tests._support.slow_senders import silent, slow_body, slow_head
from tests._support.wire import connected, head, read_reply, send

ROLES = ("consumer", "auditor", "administrator")
EXAMPLES = 8


pytestmark = pytest.mark.usefixtures("still_serves")


@pytest.fixture(scope="module")
def world(marked):
    return marked


@pytest.mark.parametrize("sent", BODIES.values(), ids=BODIES)
def test_a_malformed_body_is_a_400_that_repeats_nothing_of_it(world, sent):
    lines = ("Content-Type: application/json", f"Content-Length: {len(sent)}")
    found = send(world.url, head(INFER, *lines, key=world.key("consumer")), sent)
    unknown = sent in (BODIES["an entity with NUL"], BODIES["an entity that nobody knows"])
    assert found.status == (404 if unknown else 400), found
    problem = json.loads(found.body)
    assert set(problem) >= {"error", "code"}
    assert person(1) not in found.body
    assert "x" * 50 not in found.body


@pytest.mark.parametrize(("sent", "status"), HEADS.values(), ids=HEADS)
def test_a_malformed_head_is_a_4xx(world, sent, status):
    found = send(world.url, sent.replace(b"KEY", world.key("consumer").encode()))
    assert found.status in {status, None if len(sent) > MIB and status == 400 else status}, found
    assert found.seconds < 10


def test_older_and_odd_but_proper_requests_are_served(world):
    for sent in (
        head("/v2", method="GET", version="1.0"),
        head("http://elsewhere/v2", method="GET"),
        head("/v2", "Upgrade: websocket", "Connection: Upgrade", method="GET"),
    ):
        assert send(world.url, sent).status == 200


@pytest.mark.parametrize("given", ["a%0d%0aSet-Cookie:b=1", "\xe9", "a b", "x" * 65, '"><script>'])
def test_only_plain_request_ids_come_back(world, given):
    found = send(world.url, head("/v2", f"X-Request-ID: {given}", method="GET"))
    (line,) = [line for line in found.head.split("\r\n") if line.startswith("x-request-id")]
    assert given not in line
    assert "Set-Cookie" not in found.head
    assert "x-request-id: abc.1" in send(world.url, head("/v2", "X-Request-ID: abc.1", method="GET")).head


def spent(world) -> int:
    with world.client("auditor") as client:
        return client.post("/ledger/spent", json={"entity": PERSON}).json()["lifetime_releases"]


def test_a_request_that_ends_before_its_announced_length_is_not_answered_or_charged(world):
    before, sent = spent(world), text(ONE)
    lines = ("Content-Type: application/json", f"Content-Length: {len(sent) + 10}")
    with connected(world.url) as connection:
        connection.sendall(head(INFER, *lines, key=world.key("consumer")) + sent)
        connection.shutdown(socket.SHUT_WR)
        assert read_reply(connection, 0).status is None
    assert spent(world) == before


def test_a_request_that_goes_on_after_its_announced_length_is_a_400(world):
    before, sent = spent(world), text(ONE)
    lines = ("Content-Type: application/json", f"Content-Length: {len(sent) - 10}")
    assert send(world.url, head(INFER, *lines, key=world.key("consumer")) + sent).status == 400
    assert spent(world) == before


def test_a_body_without_end_is_cut_off(world):
    """The answer is there to be read, and then the connection ends, however much is still being sent."""
    start, sent = time.monotonic(), 0
    with connected(world.url) as connection:
        connection.sendall(head(INFER, "Transfer-Encoding: chunked", key=world.key("consumer")))
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - start < 20:
                connection.sendall(b"10000\r\n" + bytes(65536) + b"\r\n")
                sent += 65536
        assert time.monotonic() - start < 15
        assert sent < 8 * middleware.LINGER_BYTES
    client = world.client(timeout=20)

    def endless():
        while True:
            yield bytes(65536)

    with client, contextlib.suppress(httpx.WriteError, httpx.ReadError):
        assert client.post(INFER, content=endless()).status_code == 413


def test_headers_without_end_are_cut_off(world):
    start, sent = time.monotonic(), 0
    with connected(world.url) as connection:
        connection.sendall(head("/v2", method="GET")[:-2] + b"X: ")
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - start < 20:
                connection.sendall(b"a" * 4096)
                sent += 4096
    assert time.monotonic() - start < 15
    assert sent < 16 * MIB


def test_hundreds_of_idle_connections_keep_nobody_out(world):
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            connection = stack.enter_context(connected(world.url))
            connection.sendall(b"POST / HTTP/1.1\r\nHos")
        with world.client() as client:
            assert infer(client, PERSON).status_code == 200


@pytest.fixture(scope="module", autouse=True)
def slow_senders(world):
    found, key = {}, world.key("consumer")
    works = {
        "slow_head": lambda: slow_head(world.url),
        "silent": lambda: silent(world.url),
        "slow_body": lambda: slow_body(world.url, key),
    }
    threads = [threading.Thread(target=lambda name=name: found.update({name: works[name]()})) for name in works]
    for thread in threads:
        thread.start()

    def collect():
        for thread in threads:
            thread.join()
        return found

    yield collect
    collect()


# All that the OpenAPI document offers


@pytest.fixture(scope="module")
def document(world):
    return schemathesis.openapi.from_dict(httpx.get(f"{world.url}/openapi.json").json())


CHECKS = [
    schemathesis.checks.not_a_server_error,
    conformance.status_code_conformance,
    conformance.content_type_conformance,
    conformance.response_schema_conformance,
    conformance.response_headers_conformance,
]


@pytest.mark.parametrize("role", [*ROLES, None])
def test_whatever_the_document_allows_or_forbids_gets_a_documented_answer(world, document, role):
    headers = {"Authorization": f"Bearer {world.key(role)}"} if role else {}
    statuses = set()

    def check(case):
        if case.path_parameters and "model" in case.path_parameters:
            case.path_parameters["model"] = MODEL
        answer = case.call(base_url=world.url, headers=headers)
        case.validate_response(answer, checks=CHECKS, headers=headers)
        statuses.add(answer.status_code)

    quiet = settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    for found in document.get_all_operations():
        operation = found.ok()
        for mode in schemathesis.GenerationMode:
            with contextlib.suppress(Unsatisfiable):  # an operation without parameters cannot be asked wrongly
                quiet(given(operation.as_strategy(generation_mode=mode))(check))()
    assert (200 if role else 401) in statuses
    assert not role or 400 in statuses  # strangers are not told what is wrong with what they sent


# What remains after all of that


def test_slow_senders_are_cut_off(slow_senders):
    found = slow_senders()
    assert found["slow_head"].status is None
    assert found["silent"].status is None
    for name in ("slow_head", "silent"):
        assert HEAD_SECONDS - 1 < found[name].seconds < HEAD_SECONDS + 15, name
    assert found["slow_body"].status == 408
    assert middleware.BODY_SECONDS - 1 < found["slow_body"].seconds < middleware.BODY_SECONDS + 15


def test_strangers_bodies_are_not_read(world):
    """Nobody without a key makes the gateway read, let alone parse, megabytes."""
    parts = urlsplit(world.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as line:
        line.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n{")
        assert line.recv(4096).startswith(b"HTTP/1.1 401 ")  # though the body has not come
