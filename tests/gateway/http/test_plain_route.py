"""Queries on their short way: the same answers as on the long one, which ends at the same function."""

import logging
import random
import time

import httpx
import orjson
import pytest
from fastapi import FastAPI
from limits import parse

from privee.gateway.demo import MODEL
from privee.gateway.http.moving_windows import MovingWindows
from privee.gateway.http.plain_route import Shortcut
from tests._support.gateway_world import body
from tests._support.hostile_requests import BODIES

INFER, PRICE = f"/v2/models/{MODEL}/infer", f"/v2/models/{MODEL}/price"
JSON = {"content-type": "application/json"}
REQUESTS = {
    **{f"{name}, infer": (INFER, content, JSON) for name, content in BODIES.items() if len(content) < 100_000},
    "no party is there": (INFER, orjson.dumps(body("1")), JSON),
    "a price": (PRICE, orjson.dumps(body("1", "2")), JSON),
    "a price of nothing": (PRICE, b"", JSON),
    "no content type": (INFER, orjson.dumps(body("1")), {}),
    "text": (INFER, orjson.dumps(body("1")), {"content-type": "text/plain"}),
    "text/json": (INFER, orjson.dumps(body("1")), {"content-type": "text/json"}),
    "JSON of a kind": (PRICE, orjson.dumps(body("1")), {"content-type": "application/x+json; charset=utf-8"}),
    "another model": (INFER.replace(MODEL, "other"), orjson.dumps(body("1")), JSON),
    "another model, wrong body": (INFER.replace(MODEL, "other"), b"{}", JSON),
    "a long name": (INFER.replace(MODEL, "m" * 129), orjson.dumps(body("1")), JSON),
    "an encoded name": (INFER.replace(MODEL, "%64igits"), orjson.dumps(body("1")), JSON),
    "a slash in the name": (INFER.replace(MODEL, "a%2Fb"), orjson.dumps(body("1")), JSON),
    "no name": ("/v2/models//infer", orjson.dumps(body("1")), JSON),
    "a slash at the end": (INFER + "/", orjson.dumps(body("1")), JSON),
    "another word": (INFER + "x", orjson.dumps(body("1")), JSON),
}


def told(local, role, path, content, headers, caplog) -> tuple:
    """Status, headers, body and the log's line of a request, without what differs each time."""
    caplog.clear()
    key = local.key(role)
    with httpx.Client(base_url=local.url, headers={"Authorization": f"Bearer {key}"} | headers) as client:
        answer = client.post(path, content=content)
    assert answer.headers.pop("x-request-id")
    answer.headers.pop("date", None)
    end = time.monotonic() + 10  # it is written when all is sent
    while not (lines := [one.fields for one in caplog.records if one.msg == "request"]) and time.monotonic() < end:
        time.sleep(0.005)
    assert lines
    own = [{name: line.get(name) for name in ("route", "status", "method", "entities", "charged")} for line in lines]
    return answer.status_code, dict(answer.headers), answer.text, own


def ways(local, monkeypatch, *asked) -> list[tuple]:
    short = told(local, *asked)
    with monkeypatch.context() as patch:
        patch.setattr(Shortcut, "_found", lambda self, scope: (None, ""))
        return [short, told(local, *asked)]


@pytest.mark.parametrize("name", REQUESTS)
def test_the_short_way_and_the_long_one_tell_the_same(local, monkeypatch, caplog, name):
    caplog.set_level(logging.INFO, "privee.gateway")
    short, long = ways(local, monkeypatch, "consumer", *REQUESTS[name], caplog)
    assert short == long
    assert short[0] < 500 or short[0] == 503  # no party is there
    assert len(short[3]) == 1
    expected = INFER if REQUESTS[name][0] == INFER else PRICE
    if REQUESTS[name][0] in (INFER, PRICE):
        assert short[3][0]["route"] == expected.replace(MODEL, "{model}")


@pytest.mark.parametrize("role", ["auditor", "administrator"])
def test_other_roles_hear_the_same_on_both_ways(local, monkeypatch, caplog, role):
    caplog.set_level(logging.INFO, "privee.gateway")
    for path in (INFER, PRICE):
        short, long = ways(local, monkeypatch, role, path, orjson.dumps(body("1")), JSON, caplog)
        assert short == long
        assert short[0] == (200 if (role, path) == ("auditor", PRICE) else 403)


def test_the_short_way_is_taken_and_other_methods_are_not_its(local, monkeypatch):
    taken, found = [], Shortcut._found

    def watched(self, scope):
        route = found(self, scope)
        taken.append((scope["method"], scope["path"], route[0] is not None))
        return route

    monkeypatch.setattr(Shortcut, "_found", watched)
    headers = {"Authorization": f"Bearer {local.key('consumer')}"}
    with httpx.Client(base_url=local.url, headers=headers) as client:
        assert client.post(PRICE, json=body("1")).status_code == 200
        assert client.get(INFER).status_code == 405
        assert client.put(INFER, json=body("1")).status_code == 405
        assert client.get("/v2").status_code == 200
    assert [used for _, _, used in taken] == [True, False, False, False]


def test_queries_go_past_fastapi_and_nothing_else_does(local, monkeypatch):
    past, asked = FastAPI.__call__, []

    async def watched(self, scope, receive, send):
        asked.append(scope["path"])
        await past(self, scope, receive, send)

    monkeypatch.setattr(FastAPI, "__call__", watched)
    headers = {"Authorization": f"Bearer {local.key('consumer')}"}
    with httpx.Client(base_url=local.url, headers=headers) as client:
        assert client.post(PRICE, json=body("1")).status_code == 200
        assert client.post(INFER, json=body("1"), headers={"Authorization": "Bearer x"}).status_code == 401
        assert client.get("/v2").status_code == 200
    assert asked == ["/v2"]


def test_what_nobody_foresaw_is_a_500_without_words_of_it(local, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "privee.gateway")

    def fails(*_, **__):
        raise ZeroDivisionError("entity 17")

    monkeypatch.setattr("privee.gateway.http.query_routes.read_query", fails)
    short, long = ways(local, monkeypatch, "consumer", INFER, orjson.dumps(body("17")), JSON, caplog)
    assert short == long
    assert (short[0], "17" in short[2]) == (500, False)


def test_a_body_with_too_many_values_is_not_parsed(local, monkeypatch):
    monkeypatch.setattr(type(local.service.inference.source), "features", 32)
    parsed, loads = [], orjson.loads
    monkeypatch.setattr("privee.gateway.http.plain_route.orjson.loads", lambda text: parsed.append(1) or loads(text))
    headers = {"Authorization": f"Bearer {local.key('consumer')}"} | JSON
    with httpx.Client(base_url=local.url, headers=headers) as client:
        assert client.post(INFER, content=b"[" + b"0," * 200_000 + b"0]").status_code == 400
        assert not parsed
        assert client.post(INFER, content=b"[]").status_code == 400
    assert parsed


def test_moving_windows_are_those_of_their_definition():
    """Against the definition itself: a hit is one too many if so many were counted in the window before it."""
    draws, now = random.Random(3), [0.0]
    windows, limit = MovingWindows(now=lambda: now[0]), parse("5/second")
    counted: list[float] = []
    for _ in range(2000):
        now[0] += draws.choice([0.0, 0.01, 0.2, 0.4])
        before = [at for at in counted if now[0] - at < 1.0]
        wait = windows.hit(limit, "key")
        assert (wait is None) == (len(before) < 5)
        if wait is None:
            counted.append(now[0])
        else:
            assert wait == pytest.approx(1.0 - (now[0] - before[0]))
            assert 0 < wait <= 1
    assert windows.hit(limit, "another") is None
    assert windows.hit(parse("1/minute"), "key") is None
