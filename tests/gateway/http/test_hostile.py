"""Malformed, huge, slow and hostile requests: each gets a 4xx or a closed connection, and the next one is served.

The entities have marked ids, so that the last test can look for them in every log and file.
"""

import contextlib
import json
import socket
import ssl
import sys
import threading
import time
from urllib.parse import urlsplit

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.specs.openapi import checks as conformance

from privee.cli import app as cli
from privee.gateway.demo import MODEL, PARTIES
from privee.gateway.http import middleware, server
from privee.vfl.experiment import open_run
from tests._support.gateway_world import DEFENSE, Running, infer
from tests._support.hostile_requests import BODIES, HEADS, INFER, MIB, ONE, PERSON, tensors, text
from tests._support.marked_world import MARK, make_marked_world, person, start_party
from tests._support.slow_senders import silent, slow_body, slow_head
from tests._support.wire import connected, head, read_reply, send

SECRET_VALUE = 0.7314159265
ROLES = ("consumer", "auditor", "administrator")
EXAMPLES = 8
EVERYWHERE = "0.0.0.0"  # noqa: S104 (refused)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
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


@pytest.fixture(scope="module")
def release_values():
    """All numbers that were released in this module."""
    return []


@pytest.fixture(autouse=True)
def still_serves(world, release_values):
    yield
    with world.client() as client:
        answer = infer(client, PERSON)
    assert answer.status_code == 200
    release_values += answer.json()["outputs"][0]["data"]


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


# Where it may listen


def test_another_address_needs_certificates(world, capsys, monkeypatch):
    run, key = str(world.world.run), str(world.ledger_key)
    words = ["privee", "gateway", "serve", run, *DEFENSE, "--ledger", world.ledger_url, "--ledger-key", key]
    words += [word for name, address in world.addresses.items() for word in ("--party", f"{name}={address}")]
    monkeypatch.setattr(sys, "argv", [*words, "--host", EVERYWHERE, "--port", "0"])
    assert cli.run() == 2
    told = capsys.readouterr().err.strip()
    assert f"{EVERYWHERE} is not a loopback address" in " ".join(told.split())
    assert "--certs" in told
    monkeypatch.setattr(sys, "argv", [*words, "--host", EVERYWHERE, "--no-tls", "--certs", str(world.world.certs)])
    assert cli.run() == 2
    assert "clear" in capsys.readouterr().err


def test_https_with_the_private_ca(world):
    trusted = ssl.create_default_context(cafile=world.world.certs / "ca.pem")
    headers = {"Authorization": f"Bearer {world.key('consumer')}"}
    assert world.secured.startswith("https://")
    with httpx.Client(base_url=world.secured, headers=headers, verify=trusted) as client:
        assert infer(client, PERSON).status_code == 200
    with httpx.Client(base_url=world.secured) as stranger, pytest.raises(httpx.ConnectError, match="CERTIFICATE"):
        stranger.get("/v2")


@pytest.mark.parametrize(
    "sent", [b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n", bytes(4096), b"\x16\x03\x01\xff\xff" + b"\xff" * 4096, b""]
)
def test_what_is_not_tls_gets_no_http_answer(world, sent):
    with connected(world.secured) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(4096):
                found += piece
    assert b"HTTP" not in found
    trusted = ssl.create_default_context(cafile=world.world.certs / "ca.pem")
    assert httpx.get(f"{world.secured}/v2/health/live", verify=trusted).status_code == 200


def test_old_tls_is_refused(world):
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLS"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with connected(world.secured) as connection, pytest.raises((ssl.SSLError, ConnectionError)):
        old.wrap_socket(connection)


# What remains after all of that


def test_slow_senders_are_cut_off(slow_senders):
    found = slow_senders()
    assert found["slow_head"].status is None
    assert found["silent"].status is None
    for name in ("slow_head", "silent"):
        assert server.HEAD_SECONDS - 1 < found[name].seconds < server.HEAD_SECONDS + 15, name
    assert found["slow_body"].status == 408
    assert middleware.BODY_SECONDS - 1 < found["slow_body"].seconds < middleware.BODY_SECONDS + 15


def test_nothing_private_is_in_any_log_or_in_the_ledger(world, release_values):
    """No id, no score, no released number, no column, no API key."""
    headers = {"Authorization": f"Bearer {world.key('consumer')}"}
    sent = {"inputs": tensors([person(2)], [SECRET_VALUE, 0.25])["inputs"], "id": f"{MARK}-request"}
    assert httpx.post(f"{world.url}{INFER}", json=sent, headers=headers).status_code == 200
    federation, _ = open_run(world.world.run, {name: world.world.folder / f"{name}.csv" for name in PARTIES})
    scores = federation.scores().ravel().tolist()
    private = [MARK, str(SECRET_VALUE), *(world.key(role).split("_", 2)[2] for role in ROLES)]
    private += [f"{value:.10f}"[:9] for value in (*release_values, *scores) if 0.01 < abs(value) < 0.99]
    assert len(private) > 50
    files = [*world.world.folder.glob("*.log"), *world.world.folder.glob("ledger.db*")]
    assert len(files) >= 5
    for file in files:
        held = file.read_bytes()
        assert len(held) > 100, file
        assert not [word for word in private if word.encode() in held], file.name
    with world.client("auditor") as client:
        shown = client.get("/metrics").text
    assert "privee_releases_total" in shown
    assert not [word for word in private if word in shown]


def test_every_line_of_the_logs_is_json_but_the_greeting(world):
    for file in world.world.folder.glob("*.log"):
        greeting, *lines = file.read_text().splitlines()
        assert greeting.startswith("privee"), file.name
        entries = [json.loads(line) for line in lines]
        assert all({"time", "level", "event"} <= set(entry) for entry in entries)
        assert not [entry for entry in entries if entry.get("status", 0) >= 500 or "exception" in entry]


def test_strangers_bodies_are_not_read(world):
    """Nobody without a key makes the gateway read, let alone parse, megabytes."""
    parts = urlsplit(world.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as line:
        line.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n{")
        assert line.recv(4096).startswith(b"HTTP/1.1 401 ")  # though the body has not come
