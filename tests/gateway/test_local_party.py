"""The active party's table in the gateway's own process: the same answers, refusals and counts as over the wire."""

import contextlib
import re
import shutil

import httpx
import numpy as np
import pytest

from privee.errors import PriveeError
from privee.gateway.demo import World
from privee.gateway.local_party import local_settings
from privee.gateway.service import open_service
from privee.gateway.settings import GatewaySettings
from privee.party.exporting import export_codes
from privee.party.server import PartyHandler
from privee.party.stores import MemoryStore, StoreError, in_memory
from tests._support.commands import run as command
from tests._support.gateway_world import body, infer
from tests._support.local_gateway import Local
from tests._support.sealed_world import PASSIVE, defense, own_ledger


@pytest.fixture(scope="module")
def codes(sealed, tmp_path_factory):
    """The passive party's codes in a file."""
    place = tmp_path_factory.mktemp("codes")
    export_codes(sealed[0].run / "parties" / PASSIVE, place / "codes.parquet", own_ledger(place))
    return place / "codes.parquet"


@contextlib.contextmanager
def gateway(world, place, codes, local="dataset", **settings):
    """A gateway that asks nobody, and a client with a consumer's key."""
    given = {"parties": {}, "codes": {PASSIVE: codes}, "local": {"active": str(local)}, "deadline": 5.0}
    given |= {"defense": defense("none"), "releases": 1000} | settings
    with Local(world.folder, place, **given) as found:
        headers = {"Authorization": f"Bearer {found.key('consumer')}"}
        with httpx.Client(base_url=found.url, headers=headers, timeout=30) as client:
            yield found, client


def released(answer) -> np.ndarray:
    assert answer.status_code == 200, answer.text
    (tensor,) = answer.json()["outputs"]
    return np.array(tensor["data"]).reshape(tensor["shape"])


def test_predictions_with_no_party_asked_are_those_of_the_model(sealed, codes, tmp_path):
    world, expected = sealed
    entities = [0, 17, 900, 1796]
    with gateway(world, tmp_path, codes) as (found, client):
        assert np.allclose(released(infer(client, *map(str, entities))), expected[entities], atol=1e-6)
        one = [released(infer(client, str(entity)))[0] for entity in entities]
        assert np.array_equal(np.array(one), released(infer(client, *map(str, entities))))  # alike in any company
        assert client.get("/v2/health/ready").status_code == 200
        unknown = infer(client, "17", "nobody")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown-entity")
        assert unknown.json()["positions"] == [1]
        assert found.service.ledger.spent("17").lifetime_releases == 3
        assert found.service.ledger.spent("nobody").lifetime_releases == 0


def test_own_columns_are_taken_and_wrong_ones_refused_as_over_the_wire(sealed, codes, tmp_path):
    world, _ = sealed

    def asked(width, value=0.5):
        rows = {"name": "columns", "shape": [1, width], "datatype": "FP32", "data": [value] * width}
        return {"inputs": [*body("17")["inputs"], rows]}

    with gateway(world, tmp_path, codes) as (_, client):
        path = f"/v2/models/{world.run.name}/infer"
        answers = {width: client.post(path, json=asked(width)) for width in (32, 31)}
        assert released(answers[32]).shape == (1, 10)
        assert not np.allclose(released(answers[32]), released(infer(client, "17")))
        assert (answers[31].status_code, "32 features" in answers[31].json()["error"]) == (400, True)
        assert client.post(path, json=asked(32, 1.5)).status_code == 400


def test_its_own_ledger_counts_and_refuses_here_too(sealed, codes, tmp_path):
    """A party's limit is the party's, wherever its code runs; names of calls stand in both ledgers."""
    world, _ = sealed
    own = tmp_path / "own"
    own.mkdir()
    settings = tmp_path / "active.toml"
    settings.write_text(
        f'data = "dataset"\nledger = "{own / "l.db"}"\nsecret = "{own / "l.key"}"\nreleases = 2\nvariants = 1\n'
    )
    with gateway(world, tmp_path, codes, settings) as (found, client):
        assert [infer(client, "17").status_code for _ in range(2)] == [200, 200]
        told = infer(client, "17")
        assert (told.status_code, told.json()["code"]) == (429, "party-budget")
        assert infer(client, "18").status_code == 200
        assert (
            found.service.ledger.spent("17").lifetime_releases == 2
        )  # the gateway charges nothing for what the party refused
    shutil.copy(world.ledger_key, tmp_path / "ledger.key")
    compared = ("ledger.db", own / "l.db", "--party", "active", "--key", "ledger.key", "--secret", own / "l.key")
    code, out, err = command("ledger", "compare", *compared, "--settle", "0", cwd=tmp_path)
    assert code == 0, out + err


def test_a_store_that_fails_is_told_as_over_the_wire(sealed, codes, tmp_path, monkeypatch):
    world, _ = sealed

    def fails(self, entities):
        raise StoreError("the disk says: person 17 is unreadable")

    with gateway(world, tmp_path, codes) as (_, client):
        monkeypatch.setattr(MemoryStore, "find", fails)
        answer = infer(client, "17")
    assert (answer.status_code, answer.json()["code"]) == (502, "party-refused")
    assert "cannot read its data now" in answer.json()["error"]
    assert "person" not in answer.text


def test_what_waits_for_a_disk_is_done_on_a_thread(sealed, codes, tmp_path, monkeypatch):
    import threading

    world, _ = sealed
    threads, reply = [], PartyHandler.reply

    def watched(self, request):
        threads.append(threading.current_thread().name)
        return reply(self, request)

    monkeypatch.setattr(PartyHandler, "reply", watched)
    monkeypatch.setattr(PartyHandler, "waits", True)
    with gateway(world, tmp_path, codes) as (_, client):
        assert infer(client, "17").status_code == 200
    assert threads[0].startswith("embed")
    assert in_memory(MemoryStore(["a"], np.zeros((1, 2), dtype=np.float32)))


# What is not served


def opened(run: World, **given):
    given = {"run": run.run, "parties": {}, "defense": defense("none"), "ledger_url": run.ledger_url} | given
    return open_service(GatewaySettings(ledger_key=run.ledger_key, certs=run.certs, **given))


def test_an_unsealed_party_keeps_the_active_partys_table_out(folder):
    """Else whoever runs the gateway has own columns and bare scores together, and no defense means anything."""
    with pytest.raises(PriveeError, match="passive-1 is not sealed, and whoever runs a gateway with active's table"):
        opened(World(folder), parties={PASSIVE: "127.0.0.1:1"}, local={"active": "dataset"})


SETTINGS = {
    "nothing": ("", 'say where the columns are: data = "bank.csv"'),
    "an unknown name": ('data = "a.csv"\nlisten = "0.0.0.0:1"', "listen is no setting; there are aligned, bits"),
    "a number as text": ('data = "a.csv"\nreleases = "3"', "releases must be a number"),
    "true as a number": ('data = "a.csv"\nreleases = true', "releases must be a number"),
    "a list as data": ('data = ["a.csv"]', "data must be a text"),
    "no TOML": ("data: a.csv", "cannot be read as TOML"),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_wrong_settings_are_one_line(tmp_path, kind):
    content, words = SETTINGS[kind]
    file = tmp_path / "bank.toml"
    file.write_text(content)
    with pytest.raises(PriveeError, match=re.escape(words)) as caught:
        local_settings(str(file), tmp_path)
    assert "\n" not in str(caught.value)


def test_wrong_parties_and_folders_are_one_line(sealed, codes, tmp_path):
    world, _ = sealed
    other = tmp_path / "other.toml"
    other.write_text(f'data = "dataset"\nfolder = "{world.run / "parties" / PASSIVE}"\n')
    cases = {
        "is for the active party alone, which is active": {"local": {PASSIVE: "dataset"}, "parties": {"active": "a:1"}},
        "with --party and with --local; one of the two": {
            "local": {"active": "dataset"},
            "parties": {"active": "a:1"},
            "codes": {PASSIVE: codes},
        },
        "is the folder of party passive-1": {"local": {"active": str(other)}, "codes": {PASSIVE: codes}},
        "missing.toml is missing": {"local": {"active": "missing.toml"}, "codes": {PASSIVE: codes}},
        "where does party active listen": {"codes": {PASSIVE: codes}},
    }
    for words, given in cases.items():
        with pytest.raises(PriveeError, match=re.escape(words)):
            opened(world, **given)
