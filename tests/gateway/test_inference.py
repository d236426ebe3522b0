"""What an answer costs, whatever it is made from; parties that answer in this process, over real TLS."""

import asyncio
import contextlib
import dataclasses
import threading
import time

import httpx
import numpy as np
import pytest
from benchmarks._red_team.lying_party import LyingParty

from privee.defenses import LabelOnly, OrderedDP
from privee.errors import PriveeError
from privee.gateway.coordinator_model import load_coordinator_model
from privee.gateway.demo import World, make_world
from privee.party.server import PartyHandler
from tests._support.gateway_world import body, infer
from tests._support.local_gateway import Local

PARTIES = ("active", "passive-1")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {model: tmp_path_factory.mktemp(model) for model in ("logistic", "mlp")}
    for model, folder in made.items():
        make_world(folder, model=model, epochs=2)
    return made


@contextlib.contextmanager
def local(folder, place, **settings):
    """A gateway and both parties in this process; a client with a consumer's key."""
    world = World(folder)
    with contextlib.ExitStack() as stack:
        liars = {
            name: stack.enter_context(LyingParty(world.run / "parties" / name, world.certs / name)) for name in PARTIES
        }
        addresses = {name: liar.address for name, liar in liars.items()}
        given = {"parties": addresses, "certs": world.certs, "deadline": 5.0} | settings
        gateway = stack.enter_context(Local(folder, place, **given))
        headers = {"Authorization": f"Bearer {gateway.key('consumer')}"}
        yield gateway, liars, stack.enter_context(httpx.Client(base_url=gateway.url, headers=headers, timeout=30))


@dataclasses.dataclass(frozen=True)
class Picky(LabelOnly):
    """Fails for some scores, as a defense may that runs out of precision or room."""

    def _release(self, rows, sums, draws):
        if rows.max() > 0.99:
            raise PriveeError("these scores are beyond the plan")
        return super()._release(rows, sums, draws)


def test_a_defense_that_fails_has_told_something_and_is_charged(folders, tmp_path):
    with local(folders["logistic"], tmp_path, defense=Picky(), releases=2) as (gateway, liars, client):
        liars["active"].embedding = np.array([500.0, *[0.0] * 9])
        codes = [infer(client, "7").status_code for _ in range(4)]
        assert codes == [400, 400, 429, 429]
        assert gateway.service.ledger.spent("7").spent == {"releases": 2}
        liars["active"].embedding = np.zeros(10)
        assert infer(client, "8").status_code == 200
        assert gateway.service.ledger.spent("8").spent == {"releases": 1}


def test_a_row_has_the_same_scores_in_any_company(folders):
    """Any other order of additions shows in the last bits: this fails if the top takes a batch as it comes."""
    for model, folder in folders.items():
        joint = load_coordinator_model(World(folder).run)
        rng = np.random.default_rng(3)
        width = 64 if model == "mlp" else 10
        rows = {party: rng.normal(size=(200, width)).astype(np.float32) for party in joint.parties}
        alone = np.concatenate([joint.scores({p: part[k : k + 1] for p, part in rows.items()}) for k in range(200)])
        for size in (2, 3, 7, 33, 200):
            together = [joint.scores({p: part[k : k + size] for p, part in rows.items()}) for k in range(0, 200, size)]
            assert (np.concatenate(together) == alone).all(), (model, size)


def test_a_repeatable_answer_is_the_same_in_any_company_and_charged_once(folders, tmp_path):
    settings = {"defense": OrderedDP(epsilon=1), "releases": 1, "repeatable": True}
    with local(folders["mlp"], tmp_path, **settings) as (gateway, _, client):
        ids = [str(k) for k in range(60)]
        first = infer(client, "0")
        assert first.status_code == 200
        for size in (1, 2, 3, 31, 33, 60):
            answer = infer(client, *ids[:size])
            assert answer.status_code == 200, answer.text
            assert answer.json()["outputs"][0]["data"][:10] == first.json()["outputs"][0]["data"]
        assert gateway.service.ledger.totals().charged == 60


def test_readiness_is_asked_of_the_parties_once_for_all_who_wait(folders, tmp_path, monkeypatch):
    asked, describe = [], PartyHandler._describe

    async def slow(self, frame, context):
        asked.append(self)
        await asyncio.sleep(0.3)
        return await describe(self, frame, context)

    monkeypatch.setattr(PartyHandler, "_describe", slow)
    with local(folders["logistic"], tmp_path) as (gateway, _, client):
        assert client.get("/v2/health/ready").status_code == 200
        time.sleep(1.1)  # the answer is remembered for a second
        asked.clear()
        codes = []
        callers = [
            threading.Thread(target=lambda: codes.append(httpx.get(f"{gateway.url}/v2/health/ready").status_code))
            for _ in range(20)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert codes == [200] * 20
        assert len(asked) == len(PARTIES)


def test_a_key_is_told_of_a_few_ids_that_have_no_joint_record(folders, tmp_path):
    with local(folders["logistic"], tmp_path, unknown="3/day", releases=9) as (gateway, _, client):
        assert infer(client, "no-1", "7", "no-2").json()["positions"] == [0, 2]
        assert infer(client, "no-3").status_code == 404
        refused = infer(client, "7", "no-4", "8")
        assert (refused.status_code, refused.json()["code"]) == (429, "rate")
        assert "positions" not in refused.json()  # which of them it is, is not told any more
        assert int(refused.headers["retry-after"]) > 0
        assert infer(client, "7").status_code == 200
        other = {"Authorization": f"Bearer {gateway.key('consumer')}"}
        assert (
            httpx.post(client.base_url.join("/v2/models/digits/infer"), headers=other, json=body("no-5")).status_code
            == 404
        )
