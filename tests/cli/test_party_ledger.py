"""`privee party serve` with limits, and what a party's owner can see and do: status, verify, reseal, accept-loss."""

import contextlib
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from grpc import RpcError

from privee.party.ledger import PartyLedger, PartyLimits, SealTerms
from privee.party.wire import EMBED, EmbedRequest
from privee.processes import start_party
from tests._support.commands import run
from tests._support.party_world import call, make_shops, person
from tests._support.warm_servers import warm_servers

SEAL = SealTerms("5e" * 32, 16, 0.5)


@pytest.fixture
def folder(tmp_path):
    """A party's folder with a ledger of three codes."""
    place = tmp_path / "bank"
    place.mkdir()
    with PartyLedger.open(place / "ledger.db", place / "ledger.key", PartyLimits(bits=8)) as ledger:
        ledger.pin(["anna", "berta", "clara"], SEAL, np.array([1, 2, 3], np.uint8))
    return place


@pytest.fixture
def privee(folder):
    return lambda *arguments: run("party", *arguments, cwd=folder.parent)


def told(found: tuple[int, str, str]):
    code, out, err = found
    assert code == 0, err
    return json.loads(out)


def test_status_tells_numbers_and_no_ids(privee):
    found = told(privee("status", "bank", "--json"))
    assert (found["entities"], found["sealed"], found["answered"], found["lost"]) == (3, 3, 1, None)
    assert found["codes"] == {SEAL.seal: {"codes": 16, "entities": 3}}
    assert found["most"] == {"bits": 4.0, "epsilon": 0.5, "answers": 0, "variants": 0}
    assert found["limits"] == {"bits": 8, "epsilon": None, "releases": None, "variants": None}
    assert found["last"]["details"] == {"charged": 3, "entities": 3, "refused": 0, "unknown": 0}
    code, out, err = privee("status", "bank")
    assert (code, err) == (0, "")
    assert "Seal 5e5e5e5e5e5e: 3 entities have one of its 16 codes" in out
    assert "Limits: bits 8" in out
    assert "anna" not in out


def test_verify_finds_a_changed_call(privee, folder):
    code, out, _ = privee("verify", "bank")
    assert code == 0
    assert out.startswith("Unbroken: all 2 entries hold")
    with contextlib.closing(sqlite3.connect(folder / "ledger.db")) as database, database:
        database.execute("DROP TRIGGER audit_log_update")
        database.execute("UPDATE audit_log SET details = replace(details, '3', '2') WHERE seq = 2")
    code, out, _ = privee("verify", "bank", "--json")
    assert (code, json.loads(out)["first_bad"]) == (1, 2)


def test_reseal_is_an_act_with_a_reason(privee, folder):
    assert privee("reseal", "bank", "--entity", "anna")[0] == 2
    assert privee("reseal", "bank", "--reason", "whose?")[0] == 2
    assert told(privee("reseal", "bank", "--entity", "anna", "--reason", "moved", "--json")) == {"codes": 1}
    (folder / "ids.txt").write_text("berta\nclara\n")
    assert "2 codes are forgotten" in privee("reseal", "bank", "--file", "bank/ids.txt", "--reason", "moved")[1]
    code, _, err = privee("reseal", "bank", "--all", "--reason", "again")
    assert code == 2
    assert "have no code" in err
    with PartyLedger.open(folder / "ledger.db", folder / "ledger.key") as ledger:
        acts = [(entry.act, entry.reason) for entry in ledger.chain.entries()][2:]
    assert acts == [("reseal", "moved"), ("reseal", "moved")]


def test_a_lost_ledger_is_named_and_given_up_with_a_reason(privee, folder):
    (folder / "ledger.db").unlink()
    code, _, err = privee("status", "bank")
    assert code == 2
    assert "ledger.db is gone, but its secret ledger.key is there" in err
    assert len(err.strip().splitlines()) == 1
    assert "is gone" in told(privee("accept-loss", "bank", "--reason", "no copy", "--json"))["lost"]
    assert told(privee("status", "bank", "--json"))["entities"] == 0
    code, _, err = privee("accept-loss", "bank", "--reason", "no copy")
    assert code == 2
    assert "nothing to accept" in err


def test_a_party_without_a_ledger_says_so(privee, folder):
    (folder.parent / "shop").mkdir()
    code, _, err = privee("status", "shop")
    assert code == 2
    assert "this party has no ledger" in err
    assert list((folder.parent / "shop").iterdir()) == []


# Serving


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with warm_servers():
        yield make_shops(tmp_path_factory.mktemp("shops"))


@pytest.mark.parametrize("words", [("--bits", "4"), ("--epsilon", "1"), ("--releases", "0"), ("--variants", "-1")])
def test_limits_that_mean_nothing_here_are_refused_at_the_start(world, words):
    code, _, err = run("party", "serve", world.part("tables", "shop"), "--data", "shop.csv", *words, cwd=world.folder)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert "sealed" in err or "whole number" in err
    assert not (world.part("tables", "shop") / "ledger.key").exists()


def ask(world, address: str) -> str:
    """Ask about two entities as the coordinator does; tells how that ended."""
    frame = EmbedRequest((person(1), person(2)), None, "0f" * 32).encode()
    try:
        call(address, EMBED, frame, world.tls("coordinator"), world.tls("coordinator"), "shop")
    except RpcError as error:
        return str(error.details())
    return "answered"


def test_a_served_party_counts_by_itself_over_its_lives(world):
    """Also when nobody repeats the limit: what is in the folder holds."""
    party, certs = world.part("tables", "shop"), world.folder / "certs"
    found = []
    for turn, limits in enumerate((("--releases", "3"), (), ())):
        data = ["--data", str(world.folder / "shop.csv"), *limits]
        process = start_party(party, data, certs / "shop", world.folder / f"shop{turn}.log").wait_ready()
        try:
            found += [ask(world, process.address) for _ in range(2)]
        finally:
            process.kill() if turn == 0 else process.stop()
    assert found == ["answered"] * 3 + ["party-budget"] * 3
    status = told(run("party", "status", party, "--json", cwd=world.folder))
    assert (status["answered"], status["refused"], status["most"]["answers"]) == (3, 3, 3)
    assert (status["last"]["act"], status["last"]["subject"]) == ("refusal", "0f" * 32)
    logs = "".join((world.folder / f"shop{turn}.log").read_text() for turn in range(3))
    assert '"event": "over budget"' in logs
    assert "kunde" not in logs


def test_two_servers_of_one_party_share_a_ledger(world, postgres_url, tmp_path):
    data = ["--data", str(world.folder / "shop.csv"), "--releases", "5"]
    data += ["--ledger", postgres_url, "--secret", str(tmp_path / "shop.key")]
    certs, processes = world.folder / "certs" / "shop", []
    try:
        for turn in range(2):
            log = world.folder / f"shared{turn}.log"
            processes.append(start_party(world.part("tables", "shop"), data, certs, log).wait_ready())
        with ThreadPoolExecutor(8) as pool:
            addresses = [process.address for process in processes] * 8
            found = list(pool.map(lambda address: ask(world, address), addresses))
    finally:
        for process in processes:
            process.stop()
    assert sorted(found) == ["answered"] * 5 + ["party-budget"] * 11
    words = ("party", "status", "anywhere", "--ledger", postgres_url, "--secret", tmp_path / "shop.key", "--json")
    assert told(run(*words, cwd=tmp_path))["most"]["answers"] == 5
