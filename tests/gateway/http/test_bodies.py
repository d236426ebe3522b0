"""What a body may cost before it is known to be worth reading: rate limits come first, wide JSON is not parsed."""

import asyncio
import json
import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest
from pydantic import ValidationError

from privee.gateway.http import problems
from privee.gateway.http.problems import DeniedError
from privee.gateway.http.protocol import InferRequest
from tests._support.gateway_world import MODEL, body

INFER = f"/v2/models/{MODEL}/infer"


@pytest.fixture
def slow_key(local):
    return local.service.keys.create("slow", "consumer", ["*"], "2/minute", actor="test").text


def announce(url: str, key: str, size: int) -> tuple[int, float]:
    """Send a head that announces a body, and no body: the status of the answer, and how long it took."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), 5) as connection:
        head = (
            f"POST {INFER} HTTP/1.1",
            "Host: x",
            f"Authorization: Bearer {key}",
            "Content-Type: application/json",
            f"Content-Length: {size}",
        )
        started = time.perf_counter()
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        return int(connection.recv(4096).split()[1]), time.perf_counter() - started


def test_a_key_over_its_rate_is_told_so_before_its_body_is_read(local, slow_key):
    with httpx.Client(base_url=local.url, headers={"Authorization": f"Bearer {slow_key}"}) as client:
        for _ in range(2):
            assert client.post(INFER, json=body("1")).status_code == 503  # no party is there; the request counts
        told = client.post(INFER, json=body("1"))
        assert (told.status_code, told.json()["code"]) == (429, "rate")
        assert 1 <= int(told.headers["retry-after"]) <= 60
    status, seconds = announce(local.url, slow_key, 4 << 20)
    assert status == 429
    assert seconds < 3  # a body that never comes is waited for half a minute
    assert local.service.inference.counter.ledger.totals().releases == 0


def test_a_request_counts_once_against_its_rate(local):
    key = local.service.keys.create("twice", "consumer", ["*"], "4/minute", actor="test").text
    with httpx.Client(base_url=local.url, headers={"Authorization": f"Bearer {key}"}) as client:
        codes = [client.post(INFER, json=body("1")).status_code for _ in range(3)]
        codes += [client.get(f"/v2/models/{MODEL}").status_code for _ in range(2)]
    assert codes == [503, 503, 503, 200, 429]


WIDE = {
    "lists": b"[" + b",".join([b"[]"] * 600_000) + b"]",
    "numbers": b"[" + b",".join([b"0"] * 1_500_000) + b"]",
    "objects": b'{"a":' * 300_000,
    "deep": b"[" * 4_000_000,
}


@pytest.mark.parametrize("kind", WIDE)
def test_wide_and_deep_json_is_refused_unparsed(local, kind, monkeypatch):
    monkeypatch.setattr(type(local.service.inference.source), "features", 32)
    parsed, loads = [], json.loads

    def watched(text, **options):
        parsed.append(len(text))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", watched)
    key = local.key("consumer")
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = httpx.Request("POST", f"{local.url}{INFER}", headers=headers, content=WIDE[kind])
    with httpx.Client() as client:
        answer = client.send(request)
    assert answer.status_code == 400
    assert "values" in answer.json()["error"]
    assert max(parsed, default=0) < 1000


def test_values_are_counted_outside_of_texts():
    asked = json.dumps({"inputs": [{"data": ['a,b"[{', "\\", "c,,,,,,,,,,,,"]}]}).encode()
    problems.check_values(asked, 8)
    with pytest.raises(DeniedError, match="5 values"):
        problems.check_values(asked, 5)


def test_as_many_values_as_the_settings_allow_are_taken(local, monkeypatch):
    monkeypatch.setattr(type(local.service.inference.source), "features", 32)
    count = local.service.settings.max_entities
    rows = {"name": "columns", "shape": [count, 32], "datatype": "FP32", "data": [[0.5] * 32] * count}
    query = {"inputs": [*body(*map(str, range(count)))["inputs"], rows]}
    problems.check_values(json.dumps(query).encode(), asyncio.run(local.service.most_values()))


ALL_WRONG = {
    "inputs": {"inputs": [0] * 5000},
    "extra keys": {"inputs": [{str(k): 0 for k in range(5000)}]},
    "shape": {"inputs": [{"name": "entities", "shape": ["x"] * 5000, "datatype": "BYTES", "data": []}]},
    "parameters": {"inputs": [], "parameters": {str(k): [] for k in range(5000)}},
    "outputs": {"inputs": [], "outputs": [0] * 5000},
}


@pytest.mark.parametrize("kind", ALL_WRONG)
def test_a_thousand_mistakes_cost_no_more_than_one(kind):
    """Each complaint costs a hundred times its value, so values alone do not bound the work."""
    with pytest.raises(ValidationError) as caught:
        InferRequest.model_validate(ALL_WRONG[kind])
    assert caught.value.error_count() <= 4


def test_the_longest_reset_is_taken():
    problems.check_values(json.dumps({"entities": ["a,b"] * 100_000, "reason": "x"}).encode(), problems.MOST_VALUES)
