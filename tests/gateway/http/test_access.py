"""Who may ask a gateway, how often, and who may change that."""

import contextlib
import time

import httpx
import pytest

from tests._support.gateway_world import MODEL, body, infer
from tests._support.mentions import mentions

INFER, PRICE = f"/v2/models/{MODEL}/infer", f"/v2/models/{MODEL}/price"


@contextlib.contextmanager
def other(world, name):
    with httpx.Client(base_url=world.others[name], headers={"Authorization": f"Bearer {world.key('consumer')}"}) as c:
        yield c


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
    assert not mentions(str(last["details"]), "830")


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
    assert not mentions(f"{last['subject']} {last['details']}", "800")
