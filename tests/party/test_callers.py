"""Callers of a real party process who are not the coordinator, or are and hold on: they take nothing from others."""

import asyncio
import os
import shutil
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from benchmarks._shared.party_door import grpc_channel, old_certificate

from privee.gateway.channel.party_channel import PartyChannel, PartyTimeouts
from privee.party import server
from privee.party.errors import PartyError
from privee.party.wire import ABOUT, EMBED
from tests._support.party_server import SlowStore, served
from tests._support.party_world import World, make_shops, person, using

HELD = 80
LARGE, LARGE_BYTES = 6, 60 << 20
MOST_CALLS, MOST_CONNECTIONS, HANDSHAKE_SECONDS = 64, 512, 5
FILES = 64  # that a party has open for itself, at most


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The bank serves with a certificate of an older version too."""
    made = make_shops(tmp_path_factory.mktemp("world"))
    shutil.rmtree(made.folder / "certs" / "bank")
    old_certificate(made.folder / "certs", "bank")
    made.start("bank/csv", "tables", "bank", made.folder / "bank.csv")
    try:
        yield made
    finally:
        made.running["bank/csv"].kill()


def most_memory(pid: int) -> float:
    """Of the process so far, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def connect(world: World, role: str) -> grpc.Channel:
    return grpc_channel(world.running["bank/csv"].address, world.tls("coordinator"), world.tls(role), "bank")


class Held:
    """Calls that are opened and send nothing until the end."""

    def __init__(self, *channels: grpc.Channel) -> None:
        self._channels, self._end = channels, threading.Event()
        self.calls: list[grpc.Future] = []

    def open(self, count: int) -> None:
        for k in range(count):
            embed = self._channels[k % len(self._channels)].stream_unary(EMBED)
            self.calls.append(embed.future(self._nothing(), timeout=30))

    def codes(self) -> Counter[str]:
        return Counter(held.code().name for held in self.calls if held.done())

    def close(self) -> None:
        self._end.set()
        for channel in self._channels:
            channel.close()

    def _nothing(self) -> Iterator[bytes]:
        self._end.wait(30)
        yield from ()


def wait_for(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def failures(channel: PartyChannel, seconds: float) -> Counter[str]:
    """Of requests made one after the other for so long."""

    async def work(channel: PartyChannel) -> Counter[str]:
        found, end = Counter(), time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                await channel.embeddings([person(1)])
                found["answered"] += 1
            except PartyError as error:
                found[str(error)] += 1
        return found

    return using(channel, work)


def send_large(channel: grpc.Channel, codes: list[str]) -> None:
    try:
        channel.unary_unary(EMBED)(bytes(LARGE_BYTES), timeout=30)
    except grpc.RpcError as error:
        codes.append(error.code().name)


def test_a_party_takes_neither_calls_nor_memory_from_the_coordinator(world):
    """80 calls held open, and 360 MiB sent, with a certificate that gRPC itself accepts: refused before it is read."""
    bank = world.running["bank/csv"]
    held, codes = Held(*(connect(world, "old-shop") for _ in range(2))), []
    threads = [threading.Thread(target=send_large, args=(connect(world, "old-shop"), codes)) for _ in range(LARGE)]
    before = most_memory(bank.pid)
    try:
        held.open(HELD)
        for thread in threads:
            thread.start()
        found = failures(world.channel({"bank": bank.address}, timeouts=PartyTimeouts(deadline=10)), 2)
        for thread in threads:
            thread.join(30)
        assert set(found) == {"answered"}
        assert most_memory(bank.pid) - before < 100  # all that was sent would be more
        assert wait_for(lambda: held.codes() == {"PERMISSION_DENIED": HELD}, 5)
        assert codes == ["PERMISSION_DENIED"] * LARGE
    finally:
        held.close()


def test_whoever_is_refused_cannot_fill_the_log(world):
    before, started = len(world.events("bank/csv", "refused")), time.monotonic()
    with connect(world, "old-shop") as channel:
        for _ in range(10):
            calls = [channel.unary_unary(EMBED).future(b"x", timeout=10) for _ in range(30)]
            assert {call.code().name for call in calls} == {"PERMISSION_DENIED"}
    told = world.events("bank/csv", "refused")[before:]
    assert len(told) <= 2 + time.monotonic() - started
    assert all(event["peer"] == "other" for event in told)


def test_the_coordinators_own_calls_are_bounded(world):
    """Two gateways that hold more than allowed: the rest is turned away, and what ends makes room."""
    address = world.running["bank/csv"].address
    held = Held(connect(world, "coordinator"), connect(world, "coordinator"))
    try:
        held.open(HELD)
        assert wait_for(lambda: held.codes() == {"RESOURCE_EXHAUSTED": HELD - MOST_CALLS}, 10)
        found = failures(world.channel({"bank": address}), 0.2)
        assert set(found) == {"party bank has too much to do, or the message was too large"}
        for one in held.calls:
            one.cancel()
        assert wait_for(lambda: set(failures(world.channel({"bank": address}), 0.1)) == {"answered"}, 10)
    finally:
        held.close()


def test_a_message_that_never_comes_is_not_waited_for(world, monkeypatch):
    monkeypatch.setattr(server, "READ_SECONDS", 0.3)

    async def never():
        await asyncio.sleep(10)
        yield b""

    async def work() -> None:
        async with (
            served(world, SlowStore(0), "tables", "bank") as party,
            grpc.aio.insecure_channel(str(party.address)) as channel,
        ):
            for frames, code in ((never(), "DEADLINE_EXCEEDED"), (iter(()), "INVALID_ARGUMENT")):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await channel.stream_unary(EMBED)(frames, timeout=5)
                assert caught.value.code().name == code
            assert caught.value.details() == "not a valid message"
            assert await channel.unary_unary(ABOUT)(b"", timeout=5)

    started = time.monotonic()
    asyncio.run(work())
    assert time.monotonic() - started < 4


def test_connections_that_say_nothing_are_bounded_and_end(world):
    """Plain ones, and some with TLS that never send HTTP/2; the coordinator's own connection is not touched."""
    bank = world.running["bank/csv"]
    host, port = bank.address.split(":")
    mine = world.tls("old-shop")
    context = ssl.create_default_context(cafile=str(mine.ca))
    context.load_cert_chain(mine.cert, mine.key)

    def silent(count: int) -> list[socket.socket]:
        return [socket.create_connection((host, int(port)), timeout=HANDSHAKE_SECONDS + 5) for _ in range(count)]

    async def work(channel: PartyChannel) -> None:
        await channel.embeddings([person(1)])
        opened = [context.wrap_socket(one, server_hostname="bank.party.privee") for one in silent(10)]
        opened += silent(MOST_CONNECTIONS + 50)
        try:
            await asyncio.sleep(0.3)
            assert len(os.listdir(f"/proc/{bank.pid}/fd")) <= MOST_CONNECTIONS + FILES
            await channel.embeddings([person(2)])
            started = time.monotonic()
            for one in opened:  # each is closed by the party, or the read ends with an error
                assert await asyncio.to_thread(said_last, one) in (b"", None)
            assert time.monotonic() - started < HANDSHAKE_SECONDS + 3
        finally:
            for one in opened:
                one.close()
        await channel.embeddings([person(3)])

    using(world.channel({"bank": bank.address}), work)
    assert set(failures(world.channel({"bank": bank.address}), 0.1)) == {"answered"}


def said_last(one: socket.socket) -> bytes | None:
    """What comes after all that was said: nothing, once the other end has closed; None for a connection reset."""
    try:
        while found := one.recv(4096):
            pass
    except TimeoutError:
        return b"still open"
    except OSError:
        return None
    return found


def test_a_party_warns_that_its_certificate_is_too_wide(world):
    (event,) = world.events("bank/csv", "certificate of an older privee: it can also call other parties")
    assert event["level"] == "warning"
    assert "privee certs init" in event["advice"]
