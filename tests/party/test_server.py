"""A party's server in this process: right answers, and what a well-behaved gateway never makes it do."""

import asyncio
import contextlib
import logging
import socket
import threading
from typing import Any

import numpy as np
import pytest
import torch

from privee.errors import PriveeError
from privee.gateway.channel.party_channel import PartyChannel, PartyTimeouts
from privee.party.errors import PartyError
from privee.vfl.experiment import open_run
from tests._support.party_server import BrokenStore, SlowStore, served, stored
from tests._support.party_world import SLACK, failure, person

# Right answers.


@pytest.mark.parametrize("run_name", ["logistic", "tables"])
def test_logistic_digits_and_parquet_files_too(world, run_name):
    """Servers in this process, with TLS, so that no more processes are started than needed."""
    federation, data = open_run(world.folder / run_name, world.tables(run_name))
    rows = np.concatenate([data.train[:40], data.test[-40:]])
    names = [str(row) if data.ids is None else data.ids[row] for row in rows]

    async def work() -> dict[str, np.ndarray]:
        async with contextlib.AsyncExitStack() as stack:
            addresses = {}
            for party in data.columns:
                store = stored(world, run_name, party, "dataset" if data.ids is None else f"{party}.parquet")
                server = await stack.enter_async_context(served(world, store, run_name, party, tls=True))
                addresses[party] = str(server.address)
            channel = world.channel(addresses)
            stack.push_async_callback(channel.close)
            return await channel.embeddings(names)

    expected = federation.coordinator.logits(torch.from_numpy(rows)).numpy()
    assert np.abs(world.logits(run_name, asyncio.run(work())) - expected).max() < 1e-6


# What a well-behaved gateway never makes it do.


def test_only_what_is_soon_done_is_done_on_the_event_loop(world):
    """By what the last message took, for each byte of its ids; the first goes to a thread."""
    where: list[bool] = []

    class Told(SlowStore):
        def find(self, entities: Any) -> Any:
            where.append(threading.current_thread() is threading.main_thread())
            return super().find(entities)

    async def work(store: SlowStore) -> None:
        async with served(world, store) as server:
            channel = PartyChannel({"active": str(server.address)}, None)
            for seconds in (0.0, 0.0, 0.1, 0.0, 0.0):
                store.seconds = seconds
                for _ in range(5):  # a busy machine makes any of them slow
                    await channel.embeddings(["a"])
            await channel.close()

    asyncio.run(work(Told(0.0)))
    quick, slow, again = where[1:10], where[11:15], where[16:]
    assert not where[0]
    assert any(quick), "some were done on the event loop"
    assert not any(slow)
    assert not where[15], "after a slow one it is not known yet"
    assert any(again)


def test_a_busy_party_still_says_how_it_is_and_finishes_when_stopped(world):
    async def work() -> None:
        async with served(world, SlowStore(0.4)) as server:
            channel = PartyChannel({"active": str(server.address)}, None)
            await channel.health()
            slow = asyncio.ensure_future(channel.embeddings(["a"]))
            await asyncio.sleep(0.1)
            assert (await channel.health())["active"].reachable
            assert not slow.done()
            await server.stop(5)
            assert (await slow)["active"].shape == (1, 64)
            await channel.close()

    asyncio.run(work())


def test_a_request_can_be_cancelled_while_it_shares_a_call(world):
    async def work() -> list[Any]:
        async with served(world, SlowStore(0.2)) as server:
            channel = PartyChannel({"active": str(server.address)}, None)
            await channel.health()
            tasks = [asyncio.ensure_future(channel.embeddings(["a", "b"])) for _ in range(6)]
            await asyncio.sleep(0.05)
            tasks[2].cancel()  # one of the six that travel together now
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            await channel.close()
            return answers

    answers = asyncio.run(work())
    assert isinstance(answers.pop(2), asyncio.CancelledError)
    assert [answer["active"].shape for answer in answers] == [(2, 64)] * 5


def test_a_party_restarted_with_another_model_is_noticed_at_once(world):
    """Logistic embeddings are 10 wide, the others 64; the gateway was not told what to expect."""

    async def work() -> None:
        async with served(world, SlowStore(0)) as server:
            address = str(server.address)
            channel = PartyChannel({"active": address}, None)
            await channel.embeddings(["a"])
        async with served(world, SlowStore(0), run_name="logistic", listen=address):
            with pytest.raises(PartyError, match="other weights than before") as caught:
                await channel.embeddings(["a"])
            assert caught.value.kind == "mismatch"
            with pytest.raises(PartyError, match="another width than before"):
                await channel.embeddings(["a"])
        async with served(world, SlowStore(0), listen=address):
            assert (await channel.embeddings(["a"]))["active"].shape == (1, 64)
        await channel.close()
        with pytest.raises(PartyError, match="the gateway stops"):
            await channel.embeddings(["a"])

    asyncio.run(work())


def test_what_breaks_inside_a_party_is_told_without_data(world, caplog):
    async def work() -> None:
        async with served(world, BrokenStore(0)) as server:
            channel = PartyChannel({"active": str(server.address)}, None)
            with pytest.raises(PartyError, match="could not do the work; see its log") as caught:
                await channel.embeddings(["a secret id"])
            assert caught.value.kind == "refused"
            await channel.close()

    with caplog.at_level(logging.INFO, "privee.gateway"):
        asyncio.run(work())
    (record,) = (record for record in caplog.records if record.msg == "failed")
    assert record.fields["exception"] == "ZeroDivisionError"
    assert "secret" not in str(vars(record))


def test_a_taken_port_is_told(world):
    async def work() -> None:
        async with served(world, SlowStore(0)) as server:
            with pytest.raises(PriveeError, match="cannot listen on"):
                async with served(world, SlowStore(0), listen=str(server.address)):
                    pass

    asyncio.run(work())


# Parties that were never there.


def test_a_party_that_hangs_from_the_start(world):
    """It takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        channel = world.channel({"bank": address}, timeouts=PartyTimeouts(deadline=0.5))
        error, seconds = failure(channel, [person(1)])
    assert (error.party, error.kind) == ("bank", "deadline")
    assert seconds < 0.5 + SLACK


def test_a_party_that_is_not_there_yet(world):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    error, seconds = failure(world.channel({"bank": address}), [person(1)])
    assert (error.party, error.kind) == ("bank", "unreachable")
    assert seconds < 2
