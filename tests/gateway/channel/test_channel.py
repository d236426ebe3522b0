"""Parties as real processes over real TLS: right answers, named errors in time, and nobody who is not who they say."""

import asyncio
import signal
import time

import numpy as np
import pytest
import torch

from privee.errors import PriveeError
from privee.gateway.channel.party_channel import PartyTimeouts
from privee.party.errors import PartyError
from privee.vfl.experiment import open_run
from privee.vfl.runs import RunFolder
from tests._support.party_world import PARTIES, SLACK, failure, person, using

# Right answers.


def test_digits_are_answered_as_in_one_process(world):
    federation, data = open_run(world.folder / "mlp")
    rows = np.concatenate([data.train[:40], data.test[-40:]])
    answer = using(world.channel(world.digits()), lambda channel: channel.embeddings([str(row) for row in rows]))
    assert tuple(answer) == PARTIES
    expected = federation.coordinator.logits(torch.from_numpy(rows)).numpy()
    assert np.abs(world.logits("mlp", answer) - expected).max() < 1e-6


def test_own_tables_are_answered_as_by_predict(world):
    """From a CSV file and from a table of a database, with missing cells and categories."""
    federation, data = open_run(world.folder / "tables", world.tables("tables"))
    expected = federation.coordinator.logits(torch.arange(len(data.ids))).numpy()
    answer = using(world.channel(world.shops()), lambda channel: channel.embeddings(data.ids))
    assert np.abs(world.logits("tables", answer) - expected).max() < 1e-6


def test_the_active_partys_columns_can_be_given(world):
    _, data = open_run(world.folder / "mlp")
    rows = data.test[:30]
    names = [str(row) for row in rows]
    other = np.roll(data.columns["active"][rows], 1, axis=0)

    async def work(channel):
        return await asyncio.gather(
            channel.embeddings(names),
            channel.embeddings(names, data.columns["active"][rows].astype(np.float64)),
            channel.embeddings(names, other),
            channel.embeddings(["0"], other[:1]),
        )

    stored, same, moved, one = using(world.channel(world.digits()), work)
    assert np.array_equal(stored["active"], same["active"])
    assert np.array_equal(moved["active"], np.roll(stored["active"], 1, axis=0))
    assert np.array_equal(moved["passive-1"], stored["passive-1"])
    assert np.array_equal(one["active"], moved["active"][:1])


def test_an_entitys_embedding_is_the_same_bits_in_any_company(world):
    """Draws keyed by the scores would be fresh ones otherwise."""

    async def work(channel):
        alone = [(await channel.embeddings([str(row)]))["active"][0] for row in (0, 3, 50)]
        crowd = (await channel.embeddings([str(row) for row in range(77)]))["active"]
        split = (await channel.embeddings([str(row) for row in (50, 7, 3, 0)]))["active"]
        return alone, crowd[[0, 3, 50]], split[[3, 2, 0]]

    alone, crowd, split = using(world.channel(world.digits()), work)
    assert np.array_equal(alone, crowd)
    assert np.array_equal(alone, split)


# Requests share calls, and nothing else.


def test_concurrent_requests_are_batched(world):
    before = len(world.events("mlp/active", "embedded"))

    async def work(channel):
        await channel.health()
        return await asyncio.gather(*(channel.embeddings([str(k), "7"]) for k in range(20)))

    answers = using(world.channel(world.digits()), work)
    calls = [event["count"] for event in world.events("mlp/active", "embedded")[before:]]
    assert calls == [20]  # all of one turn of the event loop together, entity 7 asked for once
    one_by_one = using(world.channel(world.digits()), lambda c: c.embeddings([str(k) for k in range(20)]))
    for k, answer in enumerate(answers):
        for party in PARTIES:
            assert np.array_equal(answer[party], one_by_one[party][[k, 7]])


def test_a_call_is_never_larger_than_allowed(world):
    before = len(world.events("mlp/active", "embedded"))
    names = [str(k) for k in range(100)]

    async def work(channel):
        return await asyncio.gather(channel.embeddings(names), channel.embeddings(names[:7]))

    large, small = using(world.channel(world.digits(), max_batch=16), work)
    calls = [event["count"] for event in world.events("mlp/active", "embedded")[before:]]
    assert max(calls) == 16
    assert sum(calls) <= 107
    assert len(large["active"]) == 100
    assert np.array_equal(large["active"][:7], small["active"])


def test_an_unknown_entity_fails_its_own_request_alone(world):
    async def work(channel):
        asked = [[str(k), str(k + 1)] for k in range(12)]
        asked[5] = ["5", "kunde-7", "6", "007", "5"]
        return await asyncio.gather(*map(channel.embeddings, asked), return_exceptions=True)

    answers = using(world.channel(world.digits()), work)
    error = answers.pop(5)
    assert isinstance(error, PartyError)
    assert (error.party, error.kind, error.positions) == ("active", "unknown-entity", (1, 3))
    assert str(error) == "party active does not know 2 of the 5 entities asked for"
    assert all(isinstance(answer, dict) for answer in answers)


def test_a_cancelled_request_leaves_the_others_alone(world):
    async def work(channel):
        await channel.health()
        tasks = [asyncio.ensure_future(channel.embeddings([str(k)])) for k in range(20)]
        await asyncio.sleep(0)
        for k in (0, 7, 19):  # one in flight, two that wait
            tasks[k].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = using(world.channel(world.digits()), work)
    cancelled = [k for k, answer in enumerate(answers) if isinstance(answer, asyncio.CancelledError)]
    assert cancelled == [0, 7, 19]
    assert sum(isinstance(answer, dict) for answer in answers) == 17


# Parties that are away, hang, come back, or are not what they should be.


def test_a_party_that_is_killed_and_restarted(world):
    address = world.running["shop/sql"].address

    async def work(channel):
        first = await channel.embeddings([person(1)])
        world.running["shop/sql"].kill()
        started = time.perf_counter()
        with pytest.raises(PartyError, match=r"^party shop cannot be reached$") as caught:
            await channel.embeddings([person(1)])
        assert time.perf_counter() - started < 2 + SLACK
        assert caught.value.kind == "unreachable"
        health = await channel.health()
        assert [health[party].reachable for party in ("bank", "shop")] == [True, False]
        assert health["shop"].error == "party shop cannot be reached"
        database = f"sqlite:///{world.folder / 'tables.db'}"
        again = ("shop/sql", "tables", "shop", database, "--table", "shop")
        await asyncio.to_thread(world.start, *again, listen=address)
        return first, await channel.embeddings([person(1)])

    first, second = using(world.channel(world.shops()), work)
    assert np.array_equal(first["shop"], second["shop"])


def test_a_party_that_hangs_and_goes_on(world):
    party = world.running["mlp/passive-1"]

    async def timed(channel):
        started = time.perf_counter()
        with pytest.raises(PartyError) as caught:
            await channel.embeddings(["1"])
        assert str(caught.value) == "party passive-1 did not answer in 0.6 s"
        assert caught.value.kind == "deadline"
        return time.perf_counter() - started

    async def work(channel):
        first = await channel.embeddings(["1"])
        party.send(signal.SIGSTOP)
        try:
            taken = await asyncio.gather(*(timed(channel) for _ in range(8)))
            health = await channel.health()
        finally:
            party.send(signal.SIGCONT)
        assert max(taken) < 0.6 + SLACK
        assert not health["passive-1"].reachable
        assert health["passive-1"].seconds < 0.6 + SLACK
        return first, await channel.embeddings(["1"])

    first, second = using(world.channel(world.digits(), timeouts=PartyTimeouts(deadline=0.6)), work)
    assert np.array_equal(first["passive-1"], second["passive-1"])


def test_other_weights_are_a_mismatch(world):
    files = RunFolder.open(world.folder / "mlp").config["files"]
    right = {party: files[f"parties/{party}/model.safetensors"] for party in PARTIES}
    health = using(world.channel(world.digits(), expected_weights=right), lambda channel: channel.health())
    assert {party: health[party].weights for party in PARTIES} == right
    assert health["active"].rows == 1797
    assert (health["active"].width, health["active"].features) == (64, 32)
    wrong = right | {"active": right["passive-1"]}
    error, _ = failure(world.channel(world.digits(), expected_weights=wrong), ["1"])
    assert (error.party, error.kind) == ("active", "mismatch")
    assert "serves other weights than the run's" in str(error)
    health = using(world.channel(world.digits(), expected_weights=wrong), lambda channel: channel.health())
    assert not health["active"].reachable
    assert "other weights" in health["active"].error


@pytest.mark.parametrize(
    ("entities", "columns", "words"),
    [
        ([], None, "a list of one text or more"),
        ("12", None, "a list of one text or more"),
        (["1", ""], None, "entity 1 must be a text"),
        (["1", "é" * 129], None, "entity 1 must be a text of 1 to 256 bytes"),
        (["\ud800"], None, "entity 0 must be"),
        ([7], None, "entity 0 must be"),
        (["1"], np.zeros((2, 32)), "one row for each of the 1 entities"),
        (["1"], np.zeros((1, 31)), "must have 32 features"),
        (["1"], np.full((1, 32), np.nan), r"finite numbers in \[0, 1\]"),
        (["1"], np.full((1, 32), 1.5), r"finite numbers in \[0, 1\]"),
        (["1"], np.zeros((1, 32), dtype=complex), "must be numbers"),
    ],
)
def test_callers_mistakes_are_told_without_the_id(world, entities, columns, words):
    with pytest.raises(PriveeError, match=words) as caught:
        using(world.channel(world.digits()), lambda channel: channel.embeddings(entities, columns))
    assert not isinstance(caught.value, PartyError)
