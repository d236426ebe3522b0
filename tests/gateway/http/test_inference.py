"""The gateway as its users see it: real processes, real TLS to the parties, a real database."""

import contextlib
import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
import torch

import privee
from privee.vfl.experiment import open_run
from tests._support.gateway_world import MODEL, body, gateway_world, infer

INFER, PRICE = f"/v2/models/{MODEL}/infer", f"/v2/models/{MODEL}/price"
OTHERS = {
    "bare": ("--defense", "none", "--uncounted"),
    "repeatable": ("--defense", "privee-u:rho=0.1", "--repeatable", "--releases", "2"),
    "epsilon": ("--defense", "ordered-dp:epsilon=0.5", "--epsilon", "1.6"),
}


@pytest.fixture(scope="module")
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
    with world.client() as client:
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


# Who may ask


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("POST", INFER, {"consumer"}),
        ("POST", PRICE, {"consumer", "auditor"}),
        ("GET", "/metrics", {"auditor", "administrator"}),
        ("GET", "/ledger/totals", {"auditor", "administrator"}),
        ("GET", "/ledger/chain", {"auditor", "administrator"}),
        ("GET", "/ledger/log", {"auditor", "administrator"}),
        ("POST", "/ledger/spent", {"auditor", "administrator"}),
        ("GET", "/admin/keys", {"administrator"}),
        ("POST", "/admin/keys", {"administrator"}),
        ("POST", "/admin/entities/reset", {"administrator"}),
        ("POST", "/admin/keys/00000000/revoke", {"administrator"}),
    ],
)
def test_roles(world, method, path, needed):
    given = {
        INFER: body("600"),
        PRICE: body("600"),
        "/admin/keys": {"name": "x", "role": "auditor"},
        "/ledger/spent": {"entity": "600"},
        "/admin/entities/reset": {"entity": "600", "reason": "a test of roles"},
    }.get(path, {"reason": "a test of roles"})
    for role in ("consumer", "auditor", "administrator"):
        with world.client(role) as client:
            answer = client.request(method, path, json=given if method == "POST" else None)
        assert (answer.status_code != 403) == (role in needed), (role, answer.text)
    for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}):
        answer = httpx.request(method, world.url + path, json=given, headers=header)
        assert answer.status_code == 401
        assert "www-authenticate" in answer.headers


def test_a_key_is_for_its_models_alone_and_a_revoked_one_for_none(world):
    with world.client("administrator") as admin:
        made = admin.post("/admin/keys", json={"name": "other model", "scopes": ["another"]}).json()
        mine = admin.post("/admin/keys", json={"name": "this model", "scopes": [MODEL], "rate": "5/minute"}).json()
        assert "key" not in str(admin.get("/admin/keys").json())
        headers = [{"Authorization": f"Bearer {key['key']}"} for key in (made, mine)]
        answers = [httpx.post(world.url + INFER, json=body("700"), headers=header) for header in headers]
        assert [answer.status_code for answer in answers] == [403, 200]
        assert admin.post(f"/admin/keys/{mine['id']}/revoke", json={"reason": "left the project"}).status_code == 200
        time.sleep(1.2)  # a found key is remembered for a second
        assert httpx.post(world.url + INFER, json=body("700"), headers=headers[1]).status_code == 401
        acts = admin.get("/ledger/log").json()
    assert [act["act"] for act in acts[-3:]] == ["key.create", "key.create", "key.revoke"]
    assert acts[-1]["reason"] == "left the project"


def test_rate_limit(world):
    key = world.world.api_key("consumer", rate="2/minute")
    with httpx.Client(base_url=world.url, headers={"Authorization": f"Bearer {key}"}) as client:
        answers = [client.get(f"/v2/models/{MODEL}") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].json()["code"] == "rate"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60


def test_a_keys_quota(world):
    """Counted in the ledger, so it holds over gateways; refusals say which, what is left and when to come back."""
    with world.client("administrator") as admin:
        wanted = {"name": "small", "scopes": ["*"], "quotas": {"releases": "3/hour", "share": 0.7}}
        made = admin.post("/admin/keys", json=wanted).json()
        assert made["quotas"] == {"releases": "3/hour", "entities": None, "share": 0.7}
        header = {"Authorization": f"Bearer {made['key']}"}
        assert httpx.post(world.url + INFER, json=body("820", "821"), headers=header).status_code == 200
        refusals = [
            httpx.post(url + INFER, json=body("822", "823"), headers=header)
            for url in (world.url, world.others["epsilon"])
        ]
        for refused in refusals:
            assert (refused.status_code, refused.json()["code"]) == (429, "quota")
            assert refused.json()["refused"]["quota"] == "releases"
            assert refused.json()["refused"]["left"] == 1
            assert 3500 < int(refused.headers["retry-after"]) <= 3600
            assert "this key's quota of releases, 3/hour, has 1 left" in refused.json()["error"]
        priced = httpx.post(world.url + PRICE, json=body("822", "823"), headers=header).json()
        assert (priced["allowed"], priced["positions"]) == (False, [])
        path = f"/admin/keys/{made['id']}/quotas"
        assert admin.post(path, json={"releases": "9/hour"}).status_code == 400
        assert admin.post(path, json={"releases": "often", "reason": "a test"}).status_code == 400
        changed = admin.post(path, json={"releases": "none", "reason": "more to do"}).json()
        assert changed["quotas"] == {"releases": None, "entities": None, "share": 0.7}
        answers = [httpx.post(world.url + INFER, json=body("820"), headers=header) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429]
        assert answers[1].json()["refused"] == {
            "quota": "share",
            "left": 0,
            "asked": {"releases": 1},
            "spent": {"releases": 2},
            "limit": {"releases": 2},
            "positions": [0],
        }
        assert admin.get("/ledger/log").json()[-1]["act"] == "key.quota"
    with world.client("auditor") as auditor:
        assert 'privee_refusals_total{reason="quota"} 2.0' in auditor.get("/metrics").text


def test_new_keys_have_a_quota(world):
    with world.client("administrator") as admin:
        made = [admin.post("/admin/keys", json={"name": "n", "scopes": ["*"]} | more).json() for more in (
            {}, {"quotas": {"releases": "none"}}, {"role": "auditor"}, {"quotas": {"entities": "5/day"}}
        )]  # fmt: skip
    assert [one["quotas"]["releases"] for one in made] == ["1000/day", None, None, "1000/day"]


def test_many_resets_at_once(world, consumer):
    with world.client("administrator") as admin:
        key = admin.post("/admin/keys", json={"name": "leaky", "scopes": ["*"], "quotas": {"share": 1}}).json()
        header = {"Authorization": f"Bearer {key['key']}"}
        for _ in range(3):
            assert httpx.post(world.url + INFER, json=body("830", "831"), headers=header).status_code == 200
        assert infer(consumer, "830").status_code == 429
        path = "/admin/entities/reset-many"
        for wrong in ({}, {"entities": ["830"], "key_id": key["id"]}, {"entities": ["830", "never-asked"]}):
            assert admin.post(path, json=wrong | {"reason": "a test"}).status_code == 400
        assert infer(consumer, "830").status_code == 429
        assert admin.post(path, json={"key_id": key["id"], "reason": "leaked"}).json() == {"entities": 2}
        assert infer(consumer, "830", "831").status_code == 200
        assert admin.post(path, json={"entities": ["830", "831"], "reason": "again"}).json() == {"entities": 2}
        last = admin.get("/ledger/log").json()[-1]
    assert (last["act"], last["details"]["entities"]) == ("ledger.reset-many", 2)
    assert "830" not in str(last["details"])


def test_reset_needs_a_reason_and_is_on_record(world, consumer):
    for _ in range(3):
        infer(consumer, "800")
    assert infer(consumer, "800").status_code == 429
    with world.client("administrator") as admin:
        assert admin.post("/admin/entities/reset", json={"entity": "800"}).status_code == 400
        done = admin.post("/admin/entities/reset", json={"entity": "800", "reason": "the record was replaced"}).json()
        chain, last = admin.get("/ledger/chain").json(), admin.get("/ledger/log").json()[-1]
    assert (done["spent"]["releases"], done["lifetime_releases"]) == (0, 3)
    assert infer(consumer, "800").status_code == 200
    assert chain["ok"]
    assert (last["act"], last["reason"]) == ("ledger.reset", "the record was replaced")
    assert "800" not in (last["subject"], last["details"])


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


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_demo_in_one_command_until_it_is_told_to_stop(how, code, tmp_path):
    command = [sys.executable, "-m", "privee", "gateway", "demo", "--port", "0", "--folder", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as demo:  # noqa: S603
        lines = iter(demo.stdout.readline, "")
        next(line for line in lines if "A release for the entities 17 and 42" in line)
        curl = next(line for line in lines if line.startswith("curl"))
        next(line for line in lines if "Ctrl-C" in line)
        answer = subprocess.run(shlex.split(curl), capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
        pids = [json.loads(file.read_text())["pid"] for file in tmp_path.glob("*.ready")]
        demo.send_signal(how)
        try:
            assert demo.wait(60) == code
        finally:
            demo.terminate()  # else leaving this block would wait for ever
    assert json.loads(answer.stdout)["parameters"]["remaining"] == 8
    assert len(pids) == 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)  # nothing is left running
