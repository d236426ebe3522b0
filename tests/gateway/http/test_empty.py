"""Requests with nothing in them get one line that says what is missing, and cost nothing."""

import httpx
import pytest

from tests._support.gateway_world import MODEL, body

ROUTES = ("infer", "price")
JSON = {"Content-Type": "application/json"}
ENTITIES = body("1")["inputs"][0]
NO_INPUTS = 'send a tensor "entities", such as {"name"'


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("sent", "line"),
    [
        ({"content": b"", "headers": JSON}, "the request has no body: send JSON"),
        ({"content": b""}, "send JSON, and say so: Content-Type: application/json"),
        ({"json": {}}, f"inputs is missing: {NO_INPUTS}"),
        ({"json": {"inputs": []}}, f"inputs is empty: {NO_INPUTS}"),
        ({"json": {"inputs": [{}]}}, "inputs.0.name is missing"),
        (
            {"json": {"inputs": [ENTITIES | {"shape": [0], "data": []}]}},
            'the tensor "entities" is empty: a request asks',
        ),
        ({"json": {"inputs": [ENTITIES | {"shape": []}]}}, "inputs.0.shape is empty"),
        ({"json": {"inputs": [ENTITIES | {"data": []}]}}, 'the tensor "entities" says 1 and holds 0'),
        ({"json": {"inputs": [ENTITIES | {"data": [""]}]}}, "the entity at position 0 is empty"),
        (
            {"json": {"inputs": [ENTITIES, {"name": "columns", "shape": [1, 0], "datatype": "FP32", "data": []}]}},
            'the tensor "columns" is empty',
        ),
        ({"content": b"null", "headers": JSON}, "body: Input should be a valid dictionary"),
    ],
)
def test_nothing_gets_a_line(local, route, sent, line):
    key = local.service.keys.create("empty", "consumer", ["*"], "1000/minute", actor="test").text
    with httpx.Client(base_url=local.url, headers={"Authorization": f"Bearer {key}"}) as client:
        told = client.post(f"/v2/models/{MODEL}/{route}", **sent)
    assert (told.status_code, told.json()["code"]) == (400, "bad-request")
    assert told.json()["error"].startswith(line)
    assert len(told.json()["error"]) <= 300
    assert local.service.inference.counter.ledger.totals().releases == 0
