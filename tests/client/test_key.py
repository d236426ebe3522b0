"""The Python client and its key: it never shows, and goes to no one but the gateway."""

import asyncio
import json
import logging

import pytest

from privee.client import AsyncClient, Client, GatewayError, calls
from privee.client.transport import check_address
from privee.errors import PriveeError
from tests._support.scripted_gateway import KEY, KINDS, Scripted, answer, ask, dropped, problem, released, use


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
