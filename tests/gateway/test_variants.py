"""The gateway pins what was asked: by stored columns, by columns sent, or by a party that changed its table."""

import contextlib
import dataclasses
import random
from uuid import uuid4

import httpx
import numpy as np
import pytest
from benchmarks._red_team.lying_party import LyingParty

from privee.defenses import LabelOnly, OrderedDP, RankingOnly
from privee.errors import PriveeError
from privee.gateway.coordinator_model import load_coordinator_model
from privee.gateway.demo import PARTIES, World, make_world
from privee.gateway.inference import questions
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Limits, RefusedError
from privee.party.party_model import PartyModel
from privee.party.stores import Source, open_store
from privee.vfl.run_format import PartyDescription
from tests._support.gateway_world import MODEL, body, infer
from tests._support.ledger_cases import KEY, ONE
from tests._support.local_gateway import Local, text_of, visitor

WIDTH = 32


@pytest.fixture(scope="module")
def mlp(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlp")
    make_world(folder, model="mlp", epochs=2)
    return folder


@contextlib.contextmanager
def gateway_on(folder, place, **settings):
    """A gateway in this process on parties that say what they are told to; and a consumer's client."""
    world = World(folder)
    with contextlib.ExitStack() as stack:
        liars = {
            name: stack.enter_context(LyingParty(world.run / "parties" / name, world.certs / name)) for name in PARTIES
        }
        addresses = {name: liar.address for name, liar in liars.items()}
        given = {"parties": addresses, "certs": world.certs, "deadline": 5.0, "releases": 50} | settings
        gateway = stack.enter_context(Local(folder, place, **given))
        headers = {"Authorization": f"Bearer {gateway.key('consumer')}"}
        yield gateway, liars, stack.enter_context(httpx.Client(base_url=gateway.url, headers=headers, timeout=30))


def stored(folder, party="active"):
    """A party's own columns and its part of the model, as its server has them."""
    place = World(folder).run / "parties" / party
    about = PartyDescription.read(place)
    return open_store(place, about, Source("dataset")), PartyModel(place, about)


def with_columns(client, rows, *entities):
    data = np.asarray(rows, dtype=np.float32)
    tensor = {"name": "columns", "shape": list(data.shape), "datatype": "FP32", "data": data.ravel().tolist()}
    return client.post(f"/v2/models/{MODEL}/infer", json={"inputs": [*body(*entities)["inputs"], tensor]})


def told(answer) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


REFUSED = (429, "variants")


def test_columns_are_a_variant_of_the_stored_row_unless_they_are_it(folder, tmp_path):
    store, _ = stored(folder)
    row = store.find(["7"]).columns
    with gateway_on(folder, tmp_path) as (gateway, _, client):
        assert infer(client, "7").status_code == 200
        assert told(with_columns(client, np.full((1, WIDTH), 0.5), "7")) == REFUSED
        assert with_columns(client, row, "7").status_code == 200  # the same question in other words
        nearly = np.nextafter(row, np.float32(2), dtype=np.float32)
        assert told(with_columns(client, nearly.clip(0, 1), "7")) == REFUSED
        assert with_columns(client, np.full((1, WIDTH), 0.5), "8").status_code == 200
        assert told(infer(client, "8")) == REFUSED
        refused = infer(client, "9", "8", "7").json()["refused"]
        assert (refused["positions"], refused["limit"]) == ([1], {"variants": 1})
        ledger = gateway.service.ledger
        assert [ledger.spent(one).lifetime_releases for one in "789"] == [2, 1, 0]
        assert [ledger.spent(one).variants for one in "789"] == [1, 1, 0]


def test_a_changed_table_counts_like_columns_and_a_reset_frees_it(folder, tmp_path):
    with gateway_on(folder, tmp_path, variants=2) as (gateway, liars, client):
        assert infer(client, "7").status_code == 200
        liars["active"].embedding = np.zeros(10)
        assert [told(infer(client, "7")) for _ in range(2)] == [(200, "")] * 2
        liars["active"].embedding = np.ones(10)
        assert told(infer(client, "7")) == REFUSED
        liars["active"].embedding = np.full(10, -0.0)
        assert infer(client, "7").status_code == 200  # -0 is 0
        liars["active"].embedding = None
        assert infer(client, "7").status_code == 200
        liars["active"].embedding = np.ones(10)
        gateway.service.ledger.reset("7", reason="table corrected", actor="me")
        assert infer(client, "7").status_code == 200
        assert gateway.service.ledger.spent("7").variants == 1


def test_exact_rankings_of_one_entity_end_with_the_first_question(folder, tmp_path):
    """The attack that this is against: rankings under columns of one's choice. Five are enough where none is pinned."""
    rng = np.random.default_rng(0)
    for variants, answers in ((1, 1), (None, 6)):
        place = tmp_path / str(variants)
        place.mkdir()
        with gateway_on(folder, place, defense=RankingOnly(), variants=variants) as (_, _, client):
            found = [with_columns(client, rng.random((1, WIDTH)), "7").status_code for _ in range(6)]
        assert (found[0], found.count(200), found.count(429)) == (200, answers, 6 - answers)


class Failing(LabelOnly):
    """Cannot handle some scores."""

    def _release(self, rows, sums, draws):
        raise PriveeError("these scores are beyond the plan")


def test_a_defense_that_fails_has_answered_a_question(folder, tmp_path):
    with gateway_on(folder, tmp_path, defense=Failing()) as (gateway, liars, client):
        assert infer(client, "7").status_code == 400
        liars["active"].embedding = np.zeros(10)
        assert told(infer(client, "7")) == REFUSED
        spent = gateway.service.ledger.spent("7")
        assert (spent.lifetime_releases, spent.variants) == (1, 1)


def test_a_free_answer_needs_its_variant(folder, tmp_path):
    settings = {"defense": OrderedDP(epsilon=1), "releases": 1, "repeatable": True}
    with gateway_on(folder, tmp_path, **settings) as (gateway, liars, client):
        first = infer(client, "7")
        assert [infer(client, "7").json()["parameters"]["charged"] for _ in range(3)] == [0, 0, 0]
        liars["active"].embedding = np.zeros(10)
        assert told(infer(client, "8", "7")) == (429, "ledger")  # 7 is spent: that is told first
        gateway.service.ledger.reset("7", reason="r", actor="me")
        assert infer(client, "7").json()["parameters"]["charged"] == 1
        liars["active"].embedding = None
        assert told(infer(client, "7")) == REFUSED  # though it was charged before the reset, and would be free
        assert first.status_code == 200


def test_it_is_shown_and_counted_where_auditors_look(folder, tmp_path):
    with gateway_on(folder, tmp_path, releases=4) as (gateway, _, client):
        infer(client, "7")
        for level in (0.25, 0.5):
            assert told(with_columns(client, np.full((1, WIDTH), level), "7")) == REFUSED
        headers = {"Authorization": f"Bearer {gateway.key()}"}
        metrics = httpx.get(f"{gateway.url}/metrics", headers=headers).text
        assert 'privee_refusals_total{reason="variants"} 2.0' in metrics
        price = client.post(f"/v2/models/{MODEL}/price", json=body("7", "8")).json()
        assert price["variants"] == {"used": 1, "allowed": 1}
        totals = httpx.get(f"{gateway.url}/ledger/totals", headers=headers).json()
        assert (totals["refusals"], totals["refused_variants"], totals["limits"]) == (
            2,
            2,
            {"releases": 4, "variants": 1},
        )
        assert client.get(f"/v2/models/{MODEL}").json()["parameters"]["variants"] == 1
        tag = gateway.service.ledger.spent("7").tag
        with visitor(gateway.url, gateway.key()) as seen:
            page = text_of(seen.get("/ui").text)
            chosen = text_of(seen.get("/ui?outcome=refused-variants").text)
            all_refused = text_of(seen.get("/ui?outcome=refused").text)
            rows = seen.get("/ui/export/requests.csv?outcome=refused").text
            steps = seen.get("/ui/export/requests-over-time.csv").text
            entities = seen.get("/ui/export/entities.csv").text
            one = text_of(seen.post("/ui/entity", data={"entity": "7"}).text)
        assert "Requests refused 2 2 for another variant" in page
        assert "1 answered with 1 release, 2 refused, 2 of them for another variant." in page
        assert f"{tag} 1 of 4 releases 1 of 1 25 %" in page
        assert "It may be asked about in 1 variant of the active party's columns, ever;" in page
        assert "2 requests in the last 24 hours: 0 answered" in chosen
        assert "only requests that were refused for another variant" in chosen
        assert "2 requests in the last 24 hours: 0 answered" in all_refused
        assert rows.count('"refused-variants"') == 2
        assert '"refused_variants"' in steps.splitlines()[0]
        assert steps.splitlines()[1].endswith(",2")
        assert entities.splitlines()[0].endswith('"variants"')
        assert entities.splitlines()[1].endswith(",1")
        assert "Variants 1 of 1" in one


def test_without_a_ledger_nothing_is_pinned(folder, tmp_path):
    with gateway_on(folder, tmp_path, counted=False) as (gateway, _, client):
        answers = [with_columns(client, np.full((1, WIDTH), level), "7").status_code for level in (0.25, 0.5)]
        assert answers == [200, 200]
        assert gateway.service.ledger.spent("7").variants == 0
        assert "variants" not in client.get(f"/v2/models/{MODEL}").json()["parameters"]


def test_a_new_model_version_is_a_variant(mlp):
    model, rows = load_coordinator_model(World(mlp).run), {"active": np.ones((1, 64), dtype=np.float32)}
    other = dataclasses.replace(model, version="0" * 16)
    assert questions(model, rows) != questions(other, rows)


def test_the_same_question_in_any_company_is_one_variant_10000_times(mlp, tmp_path):
    """Twenty entities, 500 times each, alone and in batches of many sizes, by the party's own code: all bits alike."""
    Ledger.create(f"sqlite:///{tmp_path / 'l.db'}", KEY)
    store, party = stored(mlp)
    model, draw = load_coordinator_model(World(mlp).run), random.Random(5)
    mine, others = [str(number) for number in range(20)], [str(number) for number in range(20, 400)]

    def asked(part):
        batch = part + draw.sample(others, draw.choice((0, 0, 0, 1, 2, 13, 100)))
        draw.shuffle(batch)
        embedded = party.embed(store.find(batch).columns)
        return ChargeRequest(batch, ONE, "key", uuid4().hex, questions=questions(model, {"active": embedded}))

    with Ledger.open(f"sqlite:///{tmp_path / 'l.db'}", KEY, limits=Limits(variants=1)) as ledger:
        for _ in range(500):
            draw.shuffle(mine)
            size = draw.choice((1, 2, 3, 7, 20))
            outcomes = ledger.charge_many([asked(mine[start : start + size]) for start in range(0, 20, size)])
            assert not [outcome for outcome in outcomes if isinstance(outcome, RefusedError)]
        spent = [ledger.spent(entity) for entity in mine]
        assert sum(one.lifetime_releases for one in spent) == 10_000
        assert {one.variants for one in spent} == {1}


def test_the_same_question_over_a_running_gateway_is_one_variant(mlp, tmp_path):
    with gateway_on(mlp, tmp_path, releases=1000) as (gateway, _, client):
        draw, ids = random.Random(6), [str(number) for number in range(60)]
        for size in (1, 2, 31, 32, 33, 60, 7):
            batch = [*draw.sample(ids[1:], size - 1), "0"]
            draw.shuffle(batch)
            assert infer(client, *batch).status_code == 200
        store, _ = stored(mlp)
        for size in (1, 5, 40):
            assert with_columns(client, store.find(ids[:size]).columns, *ids[:size]).status_code == 200
        assert gateway.service.ledger.spent("0").variants == 1
