"""A sealed model behind the gateway: the scores of the trained model, by codes alone, as often as anybody asks."""

import json
import logging

import httpx
import numpy as np
import pytest

from privee.gateway.coordinator_model import load_coordinator_model
from privee.gateway.demo import MODEL
from privee.gateway.ui.overview import sealed_sentence, sealed_words
from privee.party.exporting import export_codes
from privee.party.ledger.settings import LedgerSettings
from privee.vfl.run_format import PartyDescription
from privee.vfl.seal import Seal
from privee.vfl.seal.code_column import ColumnAbout, write_code_column
from privee.vfl.seal.records import read_codes
from tests._support.local_gateway import text_of, visitor
from tests._support.sealed_world import PASSIVE, ServedParty, asking, digits_world, own_ledger

IDS = [str(number) for number in range(40)]
ALIKE = {"atol": 1e-6, "rtol": 0}
"""The gateway calculates in double precision from the logits on."""


@pytest.fixture(scope="session")
def handed(sealed, tmp_path_factory):
    """The passive party's codes in a file."""
    place = tmp_path_factory.mktemp("handed")
    folder = sealed[0].run / "parties" / PASSIVE
    export_codes(folder, place / "codes.parquet", own_ledger(place))
    return {PASSIVE: place / "codes.parquet"}


@pytest.fixture(params=["asked", "handed over"])
def codes(request, handed):
    """What the gateway knows of the passive party: an address, or a file."""
    return handed if request.param == "handed over" else None


def other_columns(world, count: int) -> np.ndarray:
    width = PartyDescription.read(world.run / "parties" / "active").features
    return np.random.default_rng(7).random((count, width)).astype(np.float32)


def test_its_answers_are_the_trained_models_scores(sealed, codes, tmp_path):
    world, expected = sealed
    with asking(world, tmp_path, codes=codes) as asked:
        together = asked.scores(*IDS)
        assert np.allclose(together, expected[:40], **ALIKE)
        for _ in range(2):  # again, alone, and in other company: all bits alike
            assert (asked.scores(*IDS) == together).all()
            assert (asked.scores("7") == together[7]).all()
            assert (asked.scores("1700", "3", "3")[1:] == together[3]).all()
        assert PASSIVE in asked.parties or codes


def test_both_ways_take_the_codes_that_were_drawn(sealed, codes, tmp_path):
    """Bit for bit what the top makes of the codes in the party's own folder, also with columns of one's own."""
    world, _ = sealed
    model, (_, drawn) = load_coordinator_model(world.run), read_codes(world.run / "parties" / PASSIVE)
    given = other_columns(world, 40)
    with asking(world, tmp_path, codes=codes) as asked:
        found = asked.scores(*IDS, columns=given)
        party = asked.parties["active"]._handler._model
        entered = {"active": party.embed(given), PASSIVE: drawn[:40].astype(np.float32)[:, None]}
        assert (found == model.scores(entered)).all()
        wrong = entered | {PASSIVE: (drawn[:40] ^ 1).astype(np.float32)[:, None]}
        assert not np.allclose(found, model.scores(wrong), **ALIKE)


def test_nothing_is_limited_unless_somebody_says_so(sealed, codes, tmp_path):
    """Variants of the active party's columns have no end: what they could tell is bounded by the code."""
    world, _ = sealed
    with asking(world, tmp_path, codes=codes) as asked:
        for start in range(3):
            answer = asked.infer("5", columns=other_columns(world, 5)[start : start + 1])
            assert (answer.status_code, answer.json()["parameters"]["remaining"]) == (200, -1)  # without end
        assert asked.infer("5").status_code == 200
        assert asked.gateway.service.ledger.limits.variants is None
        assert asked.gateway.service.ledger.spent("5").lifetime_releases == 4  # counted they are
        assert asked.client.get(f"/v2/models/{MODEL}").json()["parameters"].get("variants") is None


def test_limits_that_are_given_hold(sealed, tmp_path):
    world, _ = sealed
    with asking(world, tmp_path, releases=2, variants=1) as asked:
        assert asked.infer("5").json()["parameters"]["remaining"] == 1
        refused = asked.infer("5", columns=other_columns(world, 1))
        assert (refused.status_code, refused.json()["code"]) == (429, "variants")
        assert asked.infer("5").json()["parameters"]["remaining"] == 0
        refused = asked.infer("5")
        assert (refused.status_code, refused.json()["code"]) == (429, "ledger")


def test_one_party_that_is_not_sealed_keeps_the_usual_variant(tmp_path):
    world = digits_world(tmp_path, {"passive-2": Seal(codes=4, epsilon=2.0)}, parties=3)
    place = tmp_path / "ledgers"
    place.mkdir()
    with asking(world, place) as asked:
        assert set(asked.parties) == {"active", "passive-1", "passive-2"}
        assert asked.infer("5").status_code == 200
        refused = asked.infer("5", columns=other_columns(world, 1))
        assert (refused.status_code, refused.json()["code"]) == (429, "variants")
        assert asked.gateway.service.ledger.limits.variants == 1
        with visitor(asked.gateway.url, asked.gateway.key()) as seen:
            page = text_of(seen.get("/ui").text)
    assert "passive-2 sealed; passive-1 not: defense and limits protect the latter." in page
    assert "drawn once with epsilon 2: at most 1.51 bits of a record, ever" in page


def test_the_log_tells_the_limit_in_force(sealed, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "privee.gateway"), asking(sealed[0], tmp_path):
        pass
    (tmp_path / "again").mkdir()
    with caplog.at_level(logging.INFO, "privee.gateway"), asking(sealed[0], tmp_path / "again", variants=3):
        pass
    started = [record.fields for record in caplog.records if record.getMessage() == "started"]
    assert [one["variants"] for one in started] == [None, 3]


def test_auditors_and_programs_are_told_of_the_seal(sealed, codes, tmp_path):
    world, _ = sealed
    model = load_coordinator_model(world.run)
    with asking(world, tmp_path, codes=codes) as asked:
        parameters = asked.client.get(f"/v2/models/{MODEL}").json()["parameters"]
        with visitor(asked.gateway.url, asked.gateway.key()) as seen:
            page = text_of(seen.get("/ui").text)
        ready = httpx.get(f"{asked.gateway.url}/v2/health/ready")
    assert json.loads(parameters["sealed"]) == model.sealed
    assert model.sealed[PASSIVE]["bits"] == 3.0
    assert sealed_sentence(model) in page
    assert "All passive parties are sealed" in sealed_sentence(model)
    assert f"Sealed {sealed_words(model.sealed[PASSIVE])}" in page
    assert "one of 8 codes: at most 3 bits of a record, ever" in page
    assert ("its codes were handed over, it is not asked" in page) == bool(codes)
    assert ready.json() == {"ready": True}


def test_an_entity_without_a_code_is_unknown_as_any_other(sealed, handed, codes, tmp_path):
    with asking(sealed[0], tmp_path, codes=codes) as asked:
        answer = asked.infer("5", "nobody", "7")
        assert (answer.status_code, answer.json()["code"], answer.json()["positions"]) == (404, "unknown-entity", [1])
        assert PASSIVE not in answer.text
        assert asked.charged == 0


def test_an_entity_that_was_left_out_of_the_file_is_unknown(sealed, tmp_path):
    """Though the active party knows it."""
    folder = sealed[0].run / "parties" / PASSIVE
    ids, drawn = read_codes(folder)
    about = PartyDescription.read(folder)
    weights = load_coordinator_model(sealed[0].run).weights[PASSIVE]
    said = ColumnAbout(about.party, "5e" * 32, weights, 8, None)
    write_code_column(tmp_path / "codes.parquet", said, ids[:7] + ids[8:], np.delete(drawn, 7))
    with asking(sealed[0], tmp_path, codes={PASSIVE: tmp_path / "codes.parquet"}) as asked:
        answer = asked.infer("5", "7", "8")
        assert (answer.status_code, answer.json()["code"], answer.json()["positions"]) == (404, "unknown-entity", [1])
        assert np.allclose(asked.scores("5", "8"), sealed[1][[5, 8]], **ALIKE)
        assert asked.charged == 2


def test_what_the_partys_own_ledger_refuses_is_a_429_and_costs_nothing(sealed, tmp_path):
    """Three bits in an entity's life: enough for one version of the model, not for the next."""
    world, _ = sealed
    newer = digits_world(tmp_path / "newer", {PASSIVE: Seal(codes=8, learn="own")}, seed=2)
    places = [tmp_path / "first", tmp_path / "second"]
    for place in places:
        place.mkdir()
    ledger = own_ledger(tmp_path / "shared", bits=3)
    with asking(world, places[0], served={PASSIVE: lambda: ServedParty(world, PASSIVE, ledger)}) as asked:
        asked.scores("1", "2", "3")
        asked.scores("2")  # the same code again is no other
    with asking(newer, places[1], served={PASSIVE: lambda: ServedParty(newer, PASSIVE, ledger)}) as asked:
        for entities in (("1",), ("9", "3", "8")):
            refused = asked.infer(*entities)
            assert (refused.status_code, refused.json()["code"]) == (429, "party-budget")
            assert refused.json()["error"].startswith(f"party {PASSIVE} refuses some of these entities")
        assert asked.charged == 0
        asked.scores("9", "8")  # those have spent nothing
        with LedgerSettings(ledger.address, ledger.secret).existing(tmp_path) as held:
            assert [held.spent(one).as_dict()["bits"] for one in ("1", "9", "77")] == [3.0, 3.0, 0.0]
