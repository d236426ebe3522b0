"""The Python client: against a server that misbehaves in known ways, and against a real gateway."""

import asyncio
import inspect
import json
import logging
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from privee.client import (
    AsyncClient,
    Client,
    GatewayError,
    GatewayUnavailable,
    NotAllowed,
    PartyFailed,
    RateLimited,
    Refused,
    Release,
    UnknownEntity,
    calls,
)
from privee.client.address import check_address
from privee.client.async_client import AsyncKeys
from privee.client.client import Keys
from privee.client.plan import Failure, exchange, wait_before_retry
from privee.client.replies import Reply
from privee.errors import PriveeError
from tests.gateway_world import gateway_world

KEY = "privee_0a1b2c3d_" + "S" * 43
KINDS = pytest.mark.parametrize("kind", ["sync", "async"])


def use(kind, url, work, **options):
    """`work` with a client of this kind: it calls one method."""
    settings = {"key": KEY, "model": "risk"} | options
    if kind == "sync":
        with Client(url, **settings) as client:
            return work(client)

    async def main():
        async with AsyncClient(url, **settings) as client:
            return await work(client)

    return asyncio.run(main())


class Scripted:
    """A real HTTP server that does what its script says, one entry per request; the last one again and again."""

    def __init__(self, *script, listen=True):
        self.script, self.requests = list(script), []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.requests.append((self.command, self.path, dict(self.headers), body))
                step = outer.script.pop(0) if len(outer.script) > 1 else outer.script[0]
                step(self)

            do_GET = do_POST  # noqa: N815

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server.server_bind()
        if listen:
            self.server.server_activate()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


def answer(status, body, **headers):
    def step(handler):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"content-length": len(data), **headers}.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()
        handler.wfile.write(data)

    return step


def problem(status, code, words="something failed", more=None, **headers):
    return answer(status, {"error": words, "code": code} | (more or {}), **headers)


def released(values=((0.75, 0.25),), **said):
    values = np.atleast_2d(np.asarray(values, dtype=np.float64))
    tensor = {"name": "release", "shape": list(values.shape), "datatype": "FP64", "data": values.ravel().tolist()}
    parameters = {"defense": "none", "release_id": "ab" * 16, "remaining": 7, "charged": len(values)} | said
    body = {"model_name": "risk", "model_version": "v1", "parameters": parameters, "outputs": [tensor]}
    return answer(200, body)


def dropped(handler):
    """The request was read, and the connection ends without a word."""
    handler.close_connection = True
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def cut(handler):
    """Half an answer."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"model_name": "risk"')
    handler.close_connection = True


def hung(handler):
    time.sleep(0.6)
    handler.close_connection = True


def ask(client):
    return client.infer("17")


# What comes back


@KINDS
def test_doubles_survive_to_the_last_bit(kind):
    random = np.random.default_rng(7).integers(0, 1 << 64, 4000, dtype=np.uint64).view(np.float64)
    odd = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1 + 0.2, np.nextafter(1, 0)]
    values = np.concatenate([odd, random[np.isfinite(random)]])[:3990].reshape(399, 10)
    with Scripted(released(values)) as server:
        found = use(kind, server.url, lambda client: client.infer(range(399)))
    assert found.dtype == np.float64
    assert found.shape == values.shape
    assert found.tobytes() == values.tobytes()


@KINDS
def test_one_entity_gives_a_vector_and_many_a_table(kind):
    with Scripted(released([0.75, 0.25]), released([0.75, 0.25]), released(np.eye(2))) as server:
        assert use(kind, server.url, lambda client: client.infer("17")).shape == (2,)
        assert use(kind, server.url, lambda client: client.infer(["17"])).shape == (1, 2)
        assert use(kind, server.url, lambda client: client.infer(["17", 42])).shape == (2, 2)
    sent = [json.loads(body)["inputs"][0] for _, _, _, body in server.requests]
    assert [tensor["data"] for tensor in sent] == [["17"], ["17"], ["17", "42"]]
    assert [tensor["shape"] for tensor in sent] == [[1], [1], [2]]
    assert {path for _, path, _, _ in server.requests} == {"/v2/models/risk/infer"}


def test_a_release_says_where_it_comes_from_and_arithmetic_does_not():
    with Scripted(released(np.eye(3), remaining=-1, charged=2, defense="ordered-dp:epsilon=1.0")) as server:
        found = use("sync", server.url, lambda client: client.infer([1, 2, 3]))
    assert isinstance(found, Release)
    said = (found.release_id, found.remaining, found.charged, found.defense, found.model_version, found.classes)
    assert said == ("ab" * 16, None, 2, "ordered-dp:epsilon=1.0", "v1", None)
    assert found[1].release_id == found.copy().release_id == found.release_id
    for made in (found * 2, found - found, found.sum(axis=1), np.exp(found)):
        assert type(made) is np.ndarray
    assert type(found.max()) is np.float64


def test_class_names_come_with_the_metadata_of_the_same_version():
    def metadata(version, classes):
        return answer(200, {"name": "risk", "versions": [version], "parameters": {"classes": classes}})

    script = [
        metadata("v1", '["no", "yes, so"]'),
        released(),
        metadata("v1", '["a", "b", "c"]'),
        released(),
        metadata("v2", '["no", "yes, so"]'),
    ]
    with Scripted(*script, released()) as server, Client(server.url, KEY, model="risk") as client:
        found = []
        for _ in range(3):
            client.model()
            found.append(client.infer("17").classes)
    assert found == [("no", "yes, so"), None, None]


@KINDS
def test_the_only_model_need_not_be_named(kind):
    with Scripted(answer(200, {"name": "privee", "models": ["a b/c"]}), released()) as server:
        use(kind, server.url, ask, model=None)
    assert [path for _, path, _, _ in server.requests] == ["/v2", "/v2/models/a%20b%2Fc/infer"]
    for told in ({"models": ["one", "two"]}, {}):
        with Scripted(answer(200, told)) as server, pytest.raises(PriveeError, match=r"model=NAME"):
            use(kind, server.url, ask, model=None)


@pytest.mark.parametrize("broken", [b"{", b"[1]", b"null", b'{"outputs": []}', b"[" * 100_000])
def test_an_answer_that_cannot_be_read_may_have_been_charged(broken):
    with Scripted(answer(200, broken)) as server, pytest.raises(GatewayUnavailable, match="not a privee") as caught:
        use("sync", server.url, ask)
    assert caught.value.maybe_counted
    assert len(server.requests) == 1


@pytest.mark.parametrize("data", [[0.5], [0.5, "x"], [0.5, None], [float("nan"), 0.5], [10**400, 1]])
def test_a_broken_release_is_refused(data):
    whole = {"name": "release", "shape": [1, 2], "datatype": "FP64", "data": data}
    said = {"defense": "none", "release_id": "ab", "remaining": 1, "charged": 1}
    body = {"model_name": "risk", "model_version": "v1", "parameters": said, "outputs": [whole]}
    with Scripted(answer(200, body)) as server, pytest.raises(GatewayUnavailable):
        use("sync", server.url, ask)


# What is sent


def test_columns_are_sent_exactly():
    wide = np.random.default_rng(1).normal(size=(2, 3))
    for columns, datatype in ((wide, "FP64"), (wide.astype(np.float32), "FP32"), (wide.round().astype(int), "FP64")):
        call = calls.infer("risk", calls.query(["1", "2"], columns))
        sent = json.loads(call.content())["inputs"][1]
        assert (sent["datatype"], sent["shape"]) == (datatype, [2, 3])
        assert np.array(sent["data"]).reshape(2, 3).tobytes() == columns.astype(np.float64).tobytes()
    assert calls.query("1", [1.0, 2.0]).inputs[1]["shape"] == [1, 2]
    assert calls.query(["1"], np.zeros((1, 4, 4))).inputs[1]["shape"] == [1, 4, 4]


def test_entities_are_texts_or_whole_numbers():
    assert calls.query(np.array([7, 8])).inputs[0]["data"] == ["7", "8"]
    assert calls.query(np.array(["a", "b"])).inputs[0]["data"] == ["a", "b"]
    assert calls.query(iter(["é", 2**70])).inputs[0]["data"] == ["é", str(2**70)]
    assert calls.query(np.int64(3)).single


@pytest.mark.parametrize(
    ("entities", "columns"),
    [
        ([], None),
        (["secret-7", 1.5], None),
        (["secret-7", True], None),
        (["secret-7", None], None),
        (None, None),
        (b"secret-7", None),
        ({"secret-7"}, None),
        (["secret-7"], [1.0]),
        (["secret-7"], [[1.0], [2.0]]),
        (["secret-7"], [[float("nan")]]),
        (["secret-7"], [["x"]]),
        (["secret-7"], [[1.0], [1.0, 2.0]]),
    ],
)
def test_a_wrong_query_is_refused_before_it_is_sent(entities, columns):
    with pytest.raises(PriveeError) as caught:
        calls.query(entities, columns)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_each_attempt_carries_the_same_request_id_and_other_calls_another():
    with Scripted(problem(503, "party-unreachable"), released()) as server:
        use("sync", server.url, ask)
        use("sync", server.url, ask)
    ids = [headers["x-request-id"] for _, _, headers, _ in server.requests]
    assert ids[0] == ids[1] != ids[2]


# Retries: only where nothing can have been charged


@KINDS
@pytest.mark.parametrize(
    ("failing", "error", "sent", "counted"),
    [
        (problem(503, "party-unreachable"), PartyFailed, 3, False),
        (problem(504, "party-deadline"), PartyFailed, 3, False),
        (problem(502, "party-mismatch"), PartyFailed, 1, False),
        (problem(503, "ledger-unavailable"), GatewayUnavailable, 1, True),
        (problem(500, "internal"), GatewayUnavailable, 1, True),
        (answer(502, b"<html>bad gateway</html>"), GatewayUnavailable, 1, True),
        (answer(503, b"<html>busy</html>"), GatewayUnavailable, 1, True),
        (answer(504, b'"party-deadline"'), GatewayUnavailable, 1, True),
        (dropped, GatewayUnavailable, 1, True),
        (cut, GatewayUnavailable, 1, True),
        (hung, GatewayUnavailable, 1, True),
        (problem(429, "rate", retry_after=60), RateLimited, 1, False),
        (problem(429, "rate"), RateLimited, 1, False),
        (problem(401, "no-key"), NotAllowed, 1, False),
        (problem(403, "not-allowed"), NotAllowed, 1, False),
        (problem(404, "not-found"), GatewayError, 1, False),
        (problem(400, "party-columns"), GatewayError, 1, False),
        (problem(413, "too-large"), GatewayError, 1, False),
    ],
)
def test_only_what_cannot_have_been_charged_is_sent_again(kind, failing, error, sent, counted):
    with Scripted(failing) as server:
        with pytest.raises(GatewayError) as caught:
            use(kind, server.url, ask, timeout=0.3 if failing is hung else 10.0)
        assert type(caught.value) is error
        assert len(server.requests) == sent
        assert caught.value.maybe_counted is counted
        assert ("the ledger may have counted it" in str(caught.value)) is counted
        assert (f"request id {caught.value.request_id}" in str(caught.value)) is counted
        assert "\n" not in str(caught.value)


@KINDS
@pytest.mark.parametrize("failing", [problem(503, "party-unreachable"), problem(429, "rate", retry_after=0)])
def test_a_retry_that_works_gives_the_release(kind, failing):
    with Scripted(failing, failing, released()) as server:
        assert use(kind, server.url, ask).tolist() == [0.75, 0.25]
        assert len(server.requests) == 3
    with Scripted(failing, released()) as server, pytest.raises(GatewayError):
        use(kind, server.url, ask, retries=0)


@KINDS
@pytest.mark.parametrize("failing", [dropped, cut, problem(503, "ledger-unavailable"), answer(504, b"")])
def test_reading_may_be_tried_again_and_changing_may_not(kind, failing):
    with Scripted(failing, answer(200, {"releases": 3})) as server:
        assert use(kind, server.url, lambda client: client.spent("17")) == {"releases": 3}
    for change in (
        lambda client: client.keys.create("x"),
        lambda client: client.keys.revoke("0a1b2c3d", reason="gone"),
        lambda client: client.reset("17", reason="asked to"),
    ):
        with Scripted(failing) as server:
            with pytest.raises(GatewayUnavailable, match="it may have taken effect"):
                use(kind, server.url, change)
            assert len(server.requests) == 1


def test_a_short_rate_limit_is_waited_for():
    started = time.monotonic()
    with Scripted(problem(429, "rate", retry_after=1), released()) as server:
        use("sync", server.url, ask)
    assert time.monotonic() - started >= 1.0


@KINDS
def test_a_gateway_that_comes_up_meanwhile_is_reached(kind):
    with Scripted(released(), listen=False) as server:
        late = threading.Timer(0.15, server.server.server_activate)
        late.start()
        assert use(kind, server.url, ask, retries=4).shape == (2,)
        late.join()


@KINDS
def test_no_gateway_at_all_charges_nothing(kind):
    with Scripted(released(), listen=False) as server:
        with pytest.raises(GatewayUnavailable, match="cannot be reached") as caught:
            use(kind, server.url, ask)
        assert not caught.value.maybe_counted
        assert use(kind, server.url, lambda client: client.ready()) is False


def test_waits_grow_and_the_last_attempt_is_not_waited_for():
    call = calls.infer("risk", calls.query("17"))
    plan, busy = exchange(call, 3), Reply(503, {}, b'{"code": "party-unreachable"}')
    steps = [next(plan), *(plan.send(answered) for answered in [busy, None] * 3)]
    assert steps == [call, 0.1, call, 0.2, call, 0.4, call]
    with pytest.raises(PartyFailed):
        plan.send(busy)


def test_what_is_worth_waiting_for():
    for failure, safe, wait in [
        ("unsent", False, 0.1),
        ("lost", True, 0.1),
        ("lost", False, None),
        ("tls", True, None),
    ]:
        assert wait_before_retry(Failure(failure, ""), 0, changes_nothing=safe) == wait
    late = Reply(429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, b'{"code": "rate"}')
    assert wait_before_retry(late, 0, changes_nothing=True) is None


# Errors


def test_a_refusal_says_what_was_asked_spent_and_allowed():
    numbers = {"asked": {"releases": 1}, "spent": {"releases": 50}, "limit": {"releases": 50}}
    with Scripted(problem(429, "ledger", "no more", {"refused": numbers | {"positions": [1]}})) as server:
        with pytest.raises(Refused, match="no more") as caught:
            use("sync", server.url, ask)
        assert len(server.requests) == 1
    error = caught.value
    assert (error.asked, error.spent, error.limit) == ({"releases": 1}, {"releases": 50}, {"releases": 50})
    assert (error.positions, error.status, error.code, error.maybe_counted) == ((1,), 429, "ledger", False)


def test_unknown_entities_are_named_by_position():
    failing = problem(404, "unknown-entity", more={"positions": [0, 2]})
    with Scripted(failing) as server, pytest.raises(UnknownEntity) as caught:
        use("sync", server.url, ask)
    assert caught.value.positions == (0, 2)


@pytest.mark.parametrize("more", [{"refused": [1]}, {"refused": {"asked": 3, "positions": 7}}, {"refused": None}])
def test_a_strange_refusal_is_still_a_refusal(more):
    with Scripted(problem(429, "ledger", "no\x1b[31m\nmore", more)) as server, pytest.raises(Refused) as caught:
        use("sync", server.url, ask)
    assert (str(caught.value), caught.value.positions, caught.value.asked) == ("no[31m more", (), {})


@KINDS
def test_ready_is_yes_or_no(kind):
    script = [answer(200, {"ready": True}), problem(503, "not-ready", more={"ready": False}), answer(502, b""), dropped]
    with Scripted(*script) as server:
        found = [use(kind, server.url, lambda client: client.ready()) for _ in script]
    assert found == [True, False, False, False]


# The key


@KINDS
def test_the_key_never_shows(kind, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    shown = []
    script = [released(), problem(401, "no-key", "give a valid key"), problem(503, "party-unreachable"), dropped]
    with Scripted(*script) as server:
        client = (Client if kind == "sync" else AsyncClient)(server.url, KEY, model="risk")
        shown += [repr(client), str(client), repr(vars(client)), repr(client.keys), repr(client._http.headers)]
        for _ in script:
            try:
                shown.append(repr(use(kind, server.url, ask, retries=0)))
            except GatewayError as error:
                shown += [repr(error), str(error), repr(vars(error))]
        client.close() if kind == "sync" else asyncio.run(client.close())
        assert all(headers["authorization"] == f"Bearer {KEY}" for _, _, headers, _ in server.requests)
    written = capfd.readouterr()
    text = "\n".join([*shown, caplog.text, written.out, written.err])
    assert "request" in caplog.text  # something was logged at all
    assert "S" * 8 not in text
    assert KEY not in text


def test_a_new_key_is_not_in_its_repr():
    with Scripted(answer(200, {"id": "0a1b2c3d", "role": "consumer", "key": KEY})) as server:
        made = use("sync", server.url, lambda client: client.keys.create("app", scopes=["risk"], rate="5/second"))
    assert made.text == KEY
    assert made.record == {"id": "0a1b2c3d", "role": "consumer"}
    assert "S" * 8 not in repr(made)
    assert json.loads(server.requests[0][3]) == {
        "name": "app",
        "role": "consumer",
        "scopes": ["risk"],
        "rate": "5/second",
    }


def test_a_whole_key_never_goes_into_an_address():
    with pytest.raises(PriveeError) as caught:
        calls.revoke_key(KEY, "lost")
    assert "S" * 8 not in str(caught.value)


@pytest.mark.parametrize("bad", ["", "short", "two words here", "line\nbreak-in-it", "clé-with-accents"])
def test_a_wrong_key_is_refused_without_showing_it(bad, monkeypatch):
    monkeypatch.delenv("PRIVEE_API_KEY", raising=False)
    with pytest.raises(PriveeError) as caught:
        Client("http://127.0.0.1:1", bad)
    assert not bad or bad not in str(caught.value)


def test_the_key_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("PRIVEE_API_KEY", KEY + "\n")
    with Scripted(released()) as server:
        use("sync", server.url, ask, key=None)
    assert server.requests[0][2]["authorization"] == f"Bearer {KEY}"
    monkeypatch.delenv("PRIVEE_API_KEY")
    with pytest.raises(PriveeError, match="PRIVEE_API_KEY"):
        Client("http://127.0.0.1:1")


@pytest.mark.parametrize(
    "url",
    [
        "http://gateway.example:8080",
        "http://10.0.0.7:8080",
        "http://0.0.0.0:8080",
        "http://localhost.example:8080",
        "http://127.0.0.1.example",
        "http://[2001:db8::1]:8080",
    ],
)
def test_no_key_over_plain_http_to_another_machine(url):
    with pytest.raises(PriveeError, match="plain http"):
        Client(url, KEY)
    assert check_address(url, allow_plain=True) == url
    assert check_address(url.replace("http:", "https:")) == url.replace("http:", "https:")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1@evil.example",
        "http://127.0.0.1:80@evil.example",
        "http://127.0.0.1\\@evil.example",
        "http://127.0.0.1#@evil.example",
        "http://127.0.0.1?x=1",
        "http://127.0.0.1\n.evil.example",
        "https://user:word@gateway.example",
        "ftp://127.0.0.1",
        "127.0.0.1:8080",
        "",
    ],
)
def test_odd_addresses_are_refused(url):
    with pytest.raises(PriveeError, match="address must be like"):
        Client(url, KEY)


def test_loopback_addresses_and_prefixes_are_fine():
    for url in ("http://localhost:8080", "http://127.0.0.1", "http://[::1]:8080", "https://h.example/privee"):
        assert check_address(url + "/") == url
    with Scripted(released()) as server:
        use("sync", server.url + "/behind/a-proxy/", ask)
    assert server.requests[0][1] == "/behind/a-proxy/v2/models/risk/infer"


@KINDS
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(kind, status):
    with Scripted(released()) as other, Scripted(answer(status, b"", location=f"{other.url}/v2")) as server:
        with pytest.raises(GatewayError, match="redirects elsewhere"):
            use(kind, server.url, ask)
        assert other.requests == []
        assert len(server.requests) == 1


@KINDS
def test_a_plain_request_does_not_go_through_a_proxy(kind, monkeypatch):
    with Scripted(answer(200, b"")) as proxy, Scripted(released()) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        use(kind, server.url, ask)
        assert proxy.requests == []


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"timeout": True}, {"retries": -1}, {"retries": 11}])
def test_wrong_settings(settings):
    with pytest.raises(PriveeError):
        Client("http://127.0.0.1:1", KEY, **settings)


def test_certificates_are_always_checked(tmp_path):
    (tmp_path / "ca.pem").write_text("nothing")
    for verify in (False, tmp_path / "missing.pem", tmp_path / "ca.pem"):
        with pytest.raises(PriveeError):
            Client("https://127.0.0.1:1", KEY, verify=verify)


# The package


def test_both_clients_have_the_same_methods():
    for plain, awaited in ((Client, AsyncClient), (Keys, AsyncKeys)):
        names = {name for name in vars(plain) if not name.startswith("_")}
        assert names == {name for name in vars(awaited) if not name.startswith("_")}
        for name in names | ({"__init__"} if plain is Client else set()):
            one, other = (inspect.signature(getattr(kind, name)) for kind in (plain, awaited))
            assert [*one.parameters.values()][1:] == [*other.parameters.values()][1:], name
            assert one.return_annotation == other.return_annotation, name
            assert name == "__init__" or inspect.iscoroutinefunction(getattr(awaited, name))


def run_python(code):
    environment = {name: value for name, value in os.environ.items() if name != "PRIVEE_API_KEY"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)  # noqa: S603
    return done.stdout.strip()


def test_importing_the_client_loads_nothing_heavy():
    heavy = ["httpx", "torch", "fastapi", "sqlalchemy", "grpc", "sklearn", "pyarrow"]
    assert run_python(f"import sys, privee.client; print([name for name in {heavy} if name in sys.modules])") == "[]"
    lazily = "import sys, privee; print('privee.client' in sys.modules, privee.Client is privee.client.Client)"
    assert run_python(lazily) == "False True"


def test_without_httpx_one_line_says_what_to_install():
    code = """
import sys
sys.modules["httpx"] = None
from privee.client import AsyncClient, Client, Refused
for kind in (Client, AsyncClient):
    try:
        kind("http://127.0.0.1:1", "a-key-of-some-length")
    except ValueError as error:
        print(type(error).__name__, error)
"""
    line = "PriveeError the client needs httpx: pip install 'privee[client]'"
    assert run_python(code).splitlines() == [line, line]


# A real gateway with two real parties, over TLS


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    options = ("--tls", "--repeatable", "--releases", "3", "--deadline", "1.5")
    with gateway_world(tmp_path_factory.mktemp("client") / "world", *options) as running:
        yield running


def real(world, kind, role, work, **options):
    given = {"model": world.model, "key": world.key(role), "verify": world.world.certs / "ca.pem"} | options
    return use(kind, world.url, work, **given)


def variant(number):
    """Columns of the active party that nobody asked about before."""
    return np.full((1, 32), number / 1000, dtype=np.float32)


@KINDS
def test_real_gateway_releases_exactly_what_it_sends(world, kind):
    entities = ["17", 42, "200"]
    found = real(world, kind, "consumer", lambda client: client.infer(entities))
    again = real(world, kind, "consumer", lambda client: client.infer(entities))
    body = {"inputs": calls.query(entities).inputs}
    with world.client(verify=ssl_context(world)) as plain:
        raw = plain.post(f"/v2/models/{world.model}/infer", json=body).json()
    assert found.shape == (3, 10)
    assert found.tobytes() == again.tobytes() == np.array(raw["outputs"][0]["data"]).tobytes()
    assert again.charged == 0  # draws are repeatable here
    assert again.release_id != found.release_id
    assert found.remaining == 2


def ssl_context(world):
    return ssl.create_default_context(cafile=world.world.certs / "ca.pem")


@KINDS
def test_real_gateway_counts_and_refuses(world, kind):
    entity = {"sync": "301", "async": "302"}[kind]
    left = [
        real(world, kind, "consumer", lambda client, n=n: client.infer([entity], variant(n))).remaining
        for n in range(3)
    ]
    assert left == [2, 1, 0]
    with pytest.raises(Refused) as caught:
        real(world, kind, "consumer", lambda client: client.infer(["303", entity], np.full((2, 32), 0.5)))
    error = caught.value
    assert (error.positions, error.asked, error.spent, error.limit) == (
        (1,),
        {"releases": 1},
        {"releases": 3},
        {"releases": 3},
    )
    assert entity not in str(error)
    quote = real(world, kind, "consumer", lambda client: client.price(["303", entity]))
    assert (quote.allowed, quote.remaining, quote.positions) == (False, 0, (1,))
    assert real(world, kind, "auditor", lambda client: client.spent("303"))["lifetime_releases"] == 0
    assert real(world, kind, "auditor", lambda client: client.spent(entity))["spent"] == {"releases": 3}
    reset = real(world, kind, "administrator", lambda client: client.reset(entity, reason="asked to"))
    assert (reset["spent"], reset["lifetime_releases"]) == ({"releases": 0}, 3)
    assert real(world, kind, "consumer", lambda client: client.infer([entity], variant(9))).remaining == 2


def test_real_gateway_answers_many_at_once(world):
    async def many(client):
        assert (await client.model())["name"] == world.model
        return await asyncio.gather(*(client.infer(entity) for entity in range(500, 532)))

    found = real(world, "async", "consumer", many, model=None)  # the gateway tells its only one
    assert {release.shape for release in found} == {(10,)}
    assert {release.classes for release in found} == {tuple("0123456789")}
    assert len({release.release_id for release in found}) == 32


@KINDS
def test_real_gateway_tells_what_auditors_ask(world, kind):
    assert real(world, kind, "consumer", lambda client: client.ready()) is True
    real(world, kind, "consumer", lambda client: client.infer("17"))
    totals = real(world, kind, "auditor", lambda client: client.totals())
    assert totals["limits"] == {"releases": 3}
    assert totals["releases"] >= 1
    chain = real(world, kind, "auditor", lambda client: client.chain())
    last = real(world, kind, "auditor", lambda client: client.log(last=1))
    assert chain["ok"]
    assert [(entry["seq"], entry["hash"]) for entry in last] == [(chain["entries"], chain["head"])]


@KINDS
def test_real_gateway_keys_are_made_used_and_revoked(world, kind):
    made = real(world, kind, "administrator", lambda client: client.keys.create("app", scopes=["other"]))
    with pytest.raises(NotAllowed, match="not for this model"):
        real(world, kind, "consumer", ask, key=made.text)
    key_id = made.record["id"]
    record = real(world, kind, "administrator", lambda client: client.keys.revoke(key_id, reason="a test"))
    assert record["revoked_at"] is not None
    time.sleep(1.1)  # a found key is remembered for a second
    with pytest.raises(NotAllowed, match="valid API key"):
        real(world, kind, "consumer", ask, key=made.text)
    listed = real(world, kind, "administrator", lambda client: client.keys.list())
    assert key_id in [one["id"] for one in listed]
    for call in (lambda client: client.totals(), lambda client: client.keys.list()):
        with pytest.raises(NotAllowed, match="role"):
            real(world, kind, "consumer", call)


@KINDS
def test_real_gateway_does_not_know_everybody(world, kind):
    with pytest.raises(UnknownEntity) as caught:
        real(world, kind, "consumer", lambda client: client.infer(["17", "nobody-here"]))
    assert caught.value.positions == (1,)
    assert "nobody-here" not in str(caught.value)
    assert caught.value.request_id in world.log
    assert "nobody-here" not in world.log


@KINDS
def test_real_gateway_with_a_hung_party_charges_nothing(world, kind):
    party = world.parties["passive-1"]
    party.send(signal.SIGSTOP)
    try:
        with pytest.raises(PartyFailed, match=r"party passive-1 did not answer in 1\.5 s") as caught:
            real(world, kind, "consumer", lambda client: client.infer("601"), retries=0)
    finally:
        party.send(signal.SIGCONT)
    assert (caught.value.status, caught.value.maybe_counted) == (504, False)
    assert real(world, kind, "auditor", lambda client: client.spent("601"))["lifetime_releases"] == 0
    assert real(world, kind, "consumer", lambda client: client.infer("17")).shape == (10,)


@KINDS
def test_real_gateway_must_show_a_certificate_we_trust(world, kind):
    for url, options in ((world.url, {"verify": True}), (world.url.replace("127.0.0.1", "127.0.0.2"), {})):
        given = {"key": world.key("consumer"), "verify": world.world.certs / "ca.pem"} | options
        with pytest.raises(GatewayUnavailable) as caught:
            use(kind, url, ask, **given)
        assert not caught.value.maybe_counted
    with pytest.raises(GatewayUnavailable, match="certificate"):
        real(world, kind, "consumer", ask, verify=True)
