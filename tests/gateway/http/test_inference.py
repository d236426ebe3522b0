"""The gateway as its users see it: real processes, real TLS to the parties, a real database."""

import contextlib
import json
import time

import httpx
import numpy as np
import torch

import privee
from privee.vfl.experiment import open_run
from tests._support.gateway_world import MODEL, body, infer

INFER, PRICE = f"/v2/models/{MODEL}/infer", f"/v2/models/{MODEL}/price"


@contextlib.contextmanager
def other(world, name):
    with httpx.Client(base_url=world.others[name], headers={"Authorization": f"Bearer {world.key('consumer')}"}) as c:
        yield c


def values(response):
    (tensor,) = response.json()["outputs"]
    return np.array(tensor["data"]).reshape(tensor["shape"])


# What comes out


def test_the_bare_gateway_gives_the_joint_models_scores(world):
    federation, data = open_run(world.world.run)
    rows = torch.arange(40)
    expected = torch.softmax(federation.coordinator.logits(rows).double(), dim=1).numpy()
    with other(world, "bare") as client:
        got = values(infer(client, *map(str, range(40))))
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, expected, atol=1e-6)
    assert len(data.labels) > 40


def test_a_release_keeps_the_ranking_bit_for_bit_and_not_the_scores(world, consumer):
    ids = [str(k) for k in range(100, 180)]
    with other(world, "bare") as client:
        scores = values(infer(client, *ids))
    release = values(infer(consumer, *ids))
    assert (privee.ranking(release) == privee.ranking(scores)).all()
    assert np.abs(release - scores).max() > 0.1


def test_the_answer_says_what_it_is(world, consumer):
    answer = infer(consumer, "200", id="mine").json()
    assert (answer["model_name"], answer["id"]) == (MODEL, "mine")
    assert answer["outputs"][0]["datatype"] == "FP64"
    about = answer["parameters"]
    assert (about["defense"], about["remaining"], about["charged"]) == ("privee-u:rho=0.1", 2, 1)
    assert len(about["release_id"]) == 32


def test_the_active_partys_own_columns_change_the_answer_but_not_whose_count_it_is(world):
    width = 32
    with other(world, "bare") as client:
        stored = values(infer(client, "201"))
        columns = {"name": "columns", "shape": [1, width], "datatype": "FP32", "data": [0.5] * width}
        tensors = body("201")["inputs"]
        varied = client.post(INFER, json={"inputs": [*tensors, columns]})
        assert varied.status_code == 200, varied.text
        assert np.abs(values(varied) - stored).max() > 1e-3
    with other(world, "any variant") as client:
        for count in range(3):
            answer = client.post(
                INFER, json={"inputs": [*body("202")["inputs"], columns | {"data": [count / 4] * width}]}
            )
            assert answer.json()["parameters"]["remaining"] == 2 - count
        assert infer(client, "202").status_code == 429
        wrong = client.post(
            INFER, json={"inputs": [*body("203")["inputs"], columns | {"shape": [1, 3], "data": [0] * 3}]}
        )
        assert 400 <= wrong.status_code < 500, wrong.text


# What is counted


def test_a_gateway_that_counts_nothing_says_so_when_it_starts(world):
    said = {name: (world.world.folder / f"{name}.log").read_text().splitlines()[0] for name in ("bare", "epsilon")}
    assert said["bare"].endswith("; nothing is counted: no limit holds, and no variant is refused")
    assert "counted" not in said["epsilon"]


def test_refusal_says_what_was_spent_and_asked(consumer):
    for _ in range(3):
        assert infer(consumer, "1").status_code == 200
    refused = infer(consumer, "1")
    assert refused.status_code == 429
    assert refused.json()["code"] == "ledger"
    details = refused.json()["refused"]
    assert details == {
        "asked": {"releases": 1},
        "spent": {"releases": 3},
        "limit": {"releases": 3},
        "positions": [0],
    }


def test_a_batch_is_all_or_nothing_and_can_be_priced_first(world, consumer):
    infer(consumer, "11")
    infer(consumer, "11")
    quote = consumer.post(PRICE, json=body("10", "11", "11")).json()
    assert (quote["allowed"], quote["positions"], quote["limit"]) == (False, [1, 2], {"releases": 3})
    refused = infer(consumer, "10", "11", "11")
    assert (refused.status_code, refused.json()["refused"]["positions"]) == (429, [1, 2])
    assert refused.json()["refused"]["asked"] == {"releases": 2}
    assert consumer.post(PRICE, json=body("10")).json()["remaining"] == 3  # nothing was charged for its neighbour
    assert infer(consumer, "10", "11").status_code == 200


def test_repeatable_draws_answer_the_same_for_nothing(world):
    with other(world, "repeatable") as client:
        first, again = infer(client, "300"), infer(client, "300")
        assert first.json()["outputs"] == again.json()["outputs"]
        assert (first.json()["parameters"]["charged"], again.json()["parameters"]["charged"]) == (1, 0)
        for _ in range(5):  # beyond the limit, for nothing
            assert infer(client, "300").status_code == 200
        columns = {"name": "columns", "shape": [1, 32], "datatype": "FP32", "data": [0.5] * 32}
        varied = [
            client.post(INFER, json={"inputs": [*body("300")["inputs"], columns | {"data": [k / 4] * 32}]})
            for k in range(3)
        ]
        assert [answer.status_code for answer in varied] == [200, 429, 429]
        assert infer(client, "300").status_code == 200


def test_total_epsilon_is_never_exceeded(world):
    with other(world, "epsilon") as client:
        answers = [infer(client, "400") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    refused = answers[-1].json()["refused"]
    assert refused["spent"] == {"releases": 3, "epsilon": 1.5}
    assert refused["limit"] == {"epsilon": 1.6}


def test_unknown_entities_are_told_by_position_and_cost_nothing(world, consumer):
    answer = infer(consumer, "500", "nobody-7f3a", "501")
    assert (answer.status_code, answer.json()["positions"]) == (404, [1])
    assert "nobody-7f3a" not in answer.text
    assert "party" not in answer.json()["error"]  # who lacks the record is nobody's business
    assert consumer.post(PRICE, json=body("500")).json()["remaining"] == 3


# Around it


def test_protocol_routes(world, consumer):
    assert consumer.get("/v2").json()["name"] == "privee"
    for path in ("/v2/health/live", "/v2/health/ready", f"/v2/models/{MODEL}/ready"):
        assert httpx.get(world.url + path).status_code == 200  # no key needed
    about = consumer.get(f"/v2/models/{MODEL}").json()
    assert about["outputs"] == [{"name": "release", "datatype": "FP64", "shape": [-1, 10]}]
    assert about["parameters"]["defense"] == "privee-u:rho=0.1"
    assert consumer.get("/v2/models/other").status_code == 404
    paths = consumer.get("/openapi.json").json()["paths"]
    assert {"/v2", "/v2/models/{model}/infer", "/v2/health/live"} <= set(paths)


def test_a_body_that_is_not_called_json_is_told_so(consumer):
    answer = consumer.post(
        INFER, content=json.dumps(body("1")), headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (answer.status_code, "Content-Type: application/json" in answer.json()["error"]) == (400, True)


def test_request_ids_are_taken_over_if_they_are_harmless(consumer):
    given = consumer.get("/v2", headers={"X-Request-ID": "trace-1.A"})
    assert given.headers["x-request-id"] == "trace-1.A"
    made = consumer.get("/v2", headers={"X-Request-ID": "no spaces or {json}"})
    assert made.headers["x-request-id"] != "no spaces or {json}"


def test_metrics_in_base_units(world, consumer):
    infer(consumer, "900", "901")
    with world.client("auditor") as auditor:
        text = auditor.get("/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert all(name.startswith("privee_") for name in lines)
    assert float(lines["privee_released_entities_total"]) >= 2
    assert float(lines['privee_http_request_duration_seconds_count{route="/v2/models/{model}/infer"}']) >= 1


def test_logs_are_json_and_hold_neither_ids_nor_keys(world, consumer):
    infer(consumer, "marked-entity-5c1e")
    infer(consumer, "901")
    time.sleep(0.1)
    lines = [line for line in world.log.splitlines() if line.startswith("{")]
    entries = [json.loads(line) for line in lines]
    assert any(entry["event"] == "request" and entry.get("entities") == 1 for entry in entries)
    assert "marked-entity-5c1e" not in world.log
    assert world.key("consumer")[16:] not in world.log
