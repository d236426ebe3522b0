"""A service of one's own with FastAPI or Starlette: nothing leaves uncounted, and refusals are clear."""

import contextlib
from typing import Annotated

import numpy as np
import pytest

pytest.importorskip("fastapi")

from fastapi import Depends, FastAPI
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from privee.adapters.fastapi import Protected, Protector
from privee.defenses import new_key
from privee.errors import SettingError
from privee.gateway.ledger.ledger import Ledger
from tests._support.served_app import served_app

SCORES = {"7": [0.7, 0.2, 0.1], "8": [0.1, 0.3, 0.6]}


@pytest.fixture
def protector(tmp_path):
    key, url = tmp_path / "ledger.key", f"sqlite:///{tmp_path / 'ledger.db'}"
    key.write_bytes(new_key())
    key.chmod(0o600)
    Ledger.create(url, key.read_bytes())

    def make(**given):
        made = {"defense": "ordered-dp:epsilon=1", "classes": 3, "epsilon": 2.0} | given
        return Protector(made.pop("defense"), ledger=url, key=key, **made)

    return make


@contextlib.contextmanager
def serving(protect, **routes):
    """An application of FastAPI with these functions."""
    app = FastAPI(lifespan=protect.lifespan)
    for name, work in routes.items():
        app.post(f"/{name}")(work)
    with served_app(app) as client:
        yield client


def test_the_dependency(protector):
    protect = protector()

    async def risk(ids: list[str], protected: Annotated[Protected, Depends(protect)]):
        release = await protected.release(ids, [SCORES[one] for one in ids])
        return {"release": release.tolist(), "remaining": release.remaining}

    def slowly(ids: list[str], protected: Annotated[Protected, Depends(protect)]):
        return {"release": protected.release_now(ids[0], SCORES[ids[0]]).tolist()}

    with serving(protect, risk=risk, slowly=slowly) as client:
        answer = client.post("/risk", json=["7", "8"]).json()
        assert answer["remaining"] == 1
        assert np.argsort(answer["release"]).tolist() == np.argsort([SCORES["7"], SCORES["8"]]).tolist()
        assert not np.allclose(answer["release"], [SCORES["7"], SCORES["8"]])
        assert np.argmax(client.post("/slowly", json=["7"]).json()["release"]) == 0
        assert protect.ledger.spent("7").lifetime_releases == 2
        for path in ("/risk", "/slowly"):
            refused = client.post(path, json=["7"])
            assert (refused.status_code, refused.headers["x-privee-code"]) == (429, "ledger")
            assert "1 entity would give away more than allowed" in refused.json()["detail"]
        assert client.post("/risk", json=["8", "7"]).status_code == 429
        assert protect.ledger.spent("8").lifetime_releases == 1


def test_what_cannot_be_released_is_counted_and_stays_here(protector):
    protect = protector()
    wrong = {"sum": [[0.9, 0.9, 0.9]], "nan": [[float("nan"), 0.5, 0.5]], "few": [[0.5, 0.5]], "rows": [[1, 0, 0]] * 2}

    async def risk(what: str, protected: Annotated[Protected, Depends(protect)]):
        return {"release": (await protected.release([what], wrong[what])).tolist()}

    with serving(protect, risk=risk) as client:
        for what in wrong:
            answer = client.post("/risk", params={"what": what})
            assert answer.status_code == 500
            assert answer.json() == {"detail": "the service has no scores that could be released"}
            assert protect.ledger.spent(what).lifetime_releases == 1


class Answer(BaseModel):
    ids: list[str]
    scores: list[list[float]]
    note: str = "kept"


def test_the_hook_on_fastapi(protector):
    protect = protector()

    @protect.replaces("scores", entities="ids")
    async def plain(ids: list[str]):
        return {"ids": ids, "scores": [SCORES[one] for one in ids], "note": "kept"}

    @protect.replaces("scores", entities="ids")
    def model(ids: list[str]) -> Answer:
        return Answer(ids=ids, scores=[SCORES[one] for one in ids])

    @protect.replaces("scores", entities="ids")
    async def forgetful(ids: list[str]):
        return {"scores": [SCORES[one] for one in ids]}

    with serving(protect, plain=plain, model=model, forgetful=forgetful) as client:
        for path in ("/plain", "/model"):
            answer = client.post(path, json=["7"])
            assert answer.status_code == 200, answer.text
            assert answer.json().keys() == {"ids", "scores", "note"}
            assert np.argmax(answer.json()["scores"][0]) == 0
            assert not np.allclose(answer.json()["scores"], SCORES["7"])
        refused = client.post("/plain", json=["7"])
        assert (refused.status_code, "scores" in refused.json()) == (429, False)
        failed = client.post("/forgetful", json=["8"])
        assert (failed.status_code, "0.6" in failed.text) == (500, False)
        assert "privee_request" not in client.get("/openapi.json").text


def test_the_hook_with_one_number_for_an_id_and_with_none(protector):
    protect = protector()

    @protect.replaces("scores", entities="id")
    async def one(id: int):
        return {"id": id or None, "scores": SCORES["7"]}

    with serving(protect, one=one) as client:
        answer = client.post("/one", params={"id": 7}).json()
        assert (answer["id"], np.argmax(answer["scores"])) == (7, 0)
        assert protect.ledger.spent("7").lifetime_releases == 1
        nobody = client.post("/one", params={"id": 0})
        assert (nobody.status_code, nobody.json()) == (500, {"detail": "nothing was released: 'id' holds no ids"})


def test_nobody_is_no_entity(protector):
    protect = protector()

    async def risk(ids: list[str], protected: Annotated[Protected, Depends(protect)]):
        return (await protected.release(ids, [SCORES["7"]] * len(ids))).tolist()

    with serving(protect, risk=risk) as client:
        assert client.post("/risk", json=["7"]).status_code == 200
        for ids, words in (([], "no entity was asked about"), (["7", ""], "at position 1 is empty")):
            answer = client.post("/risk", json=ids)
            assert (answer.status_code, answer.headers["x-privee-code"]) == (400, "bad-request"), answer.text
            assert words in answer.json()["detail"]
        assert protect.ledger.spent("7").lifetime_releases == 1


def test_the_hook_on_starlette(protector):
    protect = protector()

    @protect.replaces("scores", entities="id")
    async def risk(request):
        one = request.query_params["id"]
        if one not in SCORES:
            return JSONResponse({"error": "unknown"}, 404)
        return JSONResponse({"id": one, "scores": SCORES[one]}, headers={"x-mine": "kept"})

    app = Starlette(routes=[Route("/risk", risk)], lifespan=protect.lifespan)
    with served_app(app) as client:
        for _ in range(2):
            answer = client.get("/risk", params={"id": "8"})
            assert (answer.status_code, answer.headers["x-mine"]) == (200, "kept")
            assert np.argmax(answer.json()["scores"]) == 2
        refused = client.get("/risk", params={"id": "8"})
        assert refused.status_code == 429
        assert "would give away more than allowed" in refused.text
        assert client.get("/risk", params={"id": "9"}).status_code == 404


def test_keys_as_at_the_gateway(protector):
    protect = protector(keys=True, model="risk")
    store = protect._access._keys
    made = {
        "good": store.create("a", "consumer", ["risk"], actor="test").text,
        "other": store.create("b", "consumer", ["else"], actor="test").text,
        "auditor": store.create("c", "auditor", ["*"], actor="test").text,
        "few": store.create("d", "consumer", ["risk"], "1/minute", actor="test").text,
    }

    async def risk(protected: Annotated[Protected, Depends(protect)]):
        return (await protected.release("7", SCORES["7"])).tolist()

    with serving(protect, risk=risk) as client:

        def status(text):
            return client.post("/risk", headers={"authorization": f"Bearer {text}"} if text else {}).status_code

        assert [status(made[name]) for name in ("good", "other", "auditor")] == [200, 403, 403]
        assert [status(None), status("privee_00000000_nonsense")] == [401, 401]
        assert [status(made["few"]), status(made["few"])] == [200, 429]
        assert protect.ledger.spent("7").lifetime_releases == 2


def test_who_asks_and_variants(protector):
    protect = protector(who=lambda request: request.headers["x-user"], variants=1, epsilon=9.0)

    async def risk(columns: list[float], protected: Annotated[Protected, Depends(protect)]):
        return (await protected.release("7", SCORES["7"], columns=columns)).tolist()

    async def bare(protected: Annotated[Protected, Depends(protect)]):
        return (await protected.release("7", SCORES["7"])).tolist()

    with serving(protect, risk=risk, bare=bare) as client:
        asked = [
            client.post("/risk", json=row, headers={"x-user": "anna"}) for row in ([1.0, 0.0], [1, -0.0], [1, 0.5])
        ]
        assert [one.status_code for one in asked] == [200, 200, 429]
        assert asked[2].headers["x-privee-code"] == "variants"
        assert client.post("/bare", headers={"x-user": "anna"}).status_code == 500  # our own mistake, and nothing left
        assert protect.ledger.spent("7").lifetime_releases == 2
    with pytest.raises(SettingError, match="keys say who asks"):
        protector(keys=True, who=lambda request: "me")


def test_a_ledger_that_fails_lets_nothing_out(protector, monkeypatch):
    protect = protector()

    async def risk(request: Request, protected: Annotated[Protected, Depends(protect)]):
        return (await protected.release("7", SCORES["7"])).tolist()

    def gone(asks):
        from privee.durable.database import LedgerUnavailableError

        raise LedgerUnavailableError("the disk is full")

    with serving(protect, risk=risk) as client:
        monkeypatch.setattr(protect.ledger, "charge_many", gone)
        answer = client.post("/risk")
        assert (answer.status_code, answer.json()["detail"]) == (503, "the disk is full; nothing was released")
