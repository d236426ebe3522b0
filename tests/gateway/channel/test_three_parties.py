"""Three real party processes behind one channel: one that knows less, one that hangs, one that lies."""

import asyncio
import dataclasses
import json
import signal
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
import torch
from benchmarks._shared.party_door import grpc_channel

from privee.gateway.channel.party_channel import PartyChannel, PartyTimeouts
from privee.party.errors import PartyError
from privee.party.wire import ABOUT, EMBED, EmbedReply
from privee.pki.certificates import init_certificates
from privee.vfl.experiment import open_run, train_run
from privee.vfl.own_tables import from_tables
from tests._support.hostile_frames import framed
from tests._support.party_world import SLACK, TINY, World, failure, make_tables, person, using

PARTIES = ("bank", "shop", "insurer")
COUNT = 90
ABSENT = 17  # the insurer has no record of this person any more
SOME = [person(k) for k in (3, 80, 3, 41)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    make_tables(folder)
    lines = [f"{person(k)},{(k * 7) % 11},{k / COUNT}" for k in range(COUNT)]
    for name, kept in (("insurer", lines), ("serves", lines[:ABSENT] + lines[ABSENT + 1 :])):
        (folder / f"{name}.csv").write_text("\n".join(["customer,claims,share", *kept]) + "\n")
    made = World(folder)
    ids = dict.fromkeys(PARTIES, "customer")
    data = from_tables(files(made), active="bank", id_columns=ids, label="risk", test_share=0.3, seed=1)
    train_run(folder / "three", data, "mlp", TINY)
    init_certificates(folder / "certs", PARTIES, [])
    jobs = [(name, "three", name, folder / ("serves.csv" if name == "insurer" else f"{name}.csv")) for name in PARTIES]
    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda job: made.start(*job), jobs))
        yield made
    finally:
        for process in made.running.values():
            process.kill()


def files(world: World) -> dict:
    return {name: world.folder / f"{name}.csv" for name in PARTIES}


def addresses(world: World, **other: str) -> dict[str, str]:
    return {name: world.running[name].address for name in PARTIES} | other


def ask(world: World, entities: list[str] = SOME) -> dict[str, np.ndarray]:
    return using(world.channel(addresses(world)), lambda channel: channel.embeddings(entities))


def test_the_parties_come_in_their_order_with_the_runs_own_scores(world):
    federation, data = open_run(world.folder / "three", files(world))
    rows = [data.ids.index(entity) for entity in SOME]
    answer = ask(world)
    assert tuple(answer) == PARTIES
    with torch.inference_mode():
        found = federation.coordinator.learner.model([torch.from_numpy(values) for values in answer.values()]).numpy()
    assert np.abs(found - federation.coordinator.logits(torch.tensor(rows)).numpy()).max() < 1e-6
    moved = {name: addresses(world)[name] for name in ("insurer", "bank", "shop")}
    other = using(world.channel(moved), lambda channel: channel.embeddings(SOME))
    assert tuple(other) == ("insurer", "bank", "shop")
    assert all(np.array_equal(answer[name], other[name]) for name in PARTIES)


def test_a_person_whom_one_party_does_not_know(world):
    """It is named, with the places; requests that shared its call are answered."""

    async def work(channel: PartyChannel) -> list:
        await channel.health()
        asked = [[person(k), person(k + 1)] for k in range(12, 20)]
        return await asyncio.gather(*map(channel.embeddings, asked), return_exceptions=True)

    answers = using(world.channel(addresses(world)), work)
    failed = [k for k, answer in enumerate(answers) if isinstance(answer, PartyError)]
    assert failed == [ABSENT - 13, ABSENT - 12]
    assert [answers[k].positions for k in failed] == [(1,), (0,)]
    assert {(answers[k].party, answers[k].kind) for k in failed} == {("insurer", "unknown-entity")}
    assert all(tuple(answer) == PARTIES for k, answer in enumerate(answers) if k not in failed)


def test_a_party_that_hangs_is_named_and_takes_nothing_from_the_next_request(world):
    async def work(channel: PartyChannel) -> tuple:
        first = await channel.embeddings(SOME)
        world.running["shop"].send(signal.SIGSTOP)
        try:
            started = time.perf_counter()
            with pytest.raises(PartyError, match=r"^party shop did not answer in 0\.8 s$"):
                await channel.embeddings(SOME)
            assert time.perf_counter() - started < 0.8 + SLACK
            health = await channel.health()
        finally:
            world.running["shop"].send(signal.SIGCONT)
        assert {name: health[name].reachable for name in PARTIES} == {"bank": True, "shop": False, "insurer": True}
        return first, await channel.embeddings(SOME)

    first, second = using(world.channel(addresses(world), timeouts=PartyTimeouts(deadline=0.8)), work)
    assert all(np.array_equal(first[name], second[name]) for name in PARTIES)


# One that lies: the insurer's own answers, by its own certificate, bent on the way.

Bend = Callable[[EmbedReply], bytes]


def told(reply: EmbedReply, **other) -> bytes:
    return dataclasses.replace(reply, **other).encode()


def filled(reply: EmbedReply, value: float) -> bytes:
    numbers = reply.embeddings.copy()
    numbers[-1, -1] = value
    return told(reply, embeddings=numbers)


def header(reply: EmbedReply, **other) -> bytes:
    said = {"shape": list(reply.embeddings.shape), "unknown": [], "weights": reply.weights} | other
    return framed(json.dumps(said).encode(), reply.embeddings.tobytes())


WRONG = "party insurer sent embeddings that cannot be right"
OTHER = "party insurer answers with other weights than before; ask again"
LARGE = "party insurer has too much to do, or the message was too large"

BENT: dict[str, tuple[Bend, str]] = {
    "nothing": (lambda _: b"", WRONG),
    "noise": (lambda _: b"\xff" * 1000, WRONG),
    "not a number": (lambda reply: filled(reply, np.nan), WRONG),
    "infinite": (lambda reply: filled(reply, -np.inf), WRONG),
    "too large to calculate with": (lambda reply: filled(reply, 3e38), WRONG),
    "a row less": (lambda reply: told(reply, embeddings=reply.embeddings[1:]), WRONG),
    "a row more": (lambda reply: told(reply, embeddings=np.repeat(reply.embeddings, 2, axis=0)), WRONG),
    "wider": (lambda reply: told(reply, embeddings=np.tile(reply.embeddings, (1, 2))), OTHER),
    "other weights": (lambda reply: told(reply, weights="0" * 64), OTHER),
    "cut off": (lambda reply: reply.encode()[:-1], WRONG),
    "a shape beyond all": (lambda reply: header(reply, shape=[3, 2**62]), WRONG),
    "a shape of less": (lambda reply: header(reply, shape=[3, -1]), WRONG),
    "a place outside": (lambda reply: header(reply, unknown=[3]), WRONG),
    "a place twice": (lambda reply: header(reply, unknown=[0, 0]), WRONG),
    "a place a million times": (lambda reply: header(reply, unknown=[0] * 1_000_000), WRONG),
    "another part": (lambda reply: header(reply, code="import os"), WRONG),
    "nested": (lambda reply: framed(b"[" * 2_000_000), WRONG),
    "70 MiB": (lambda _: bytes(70 << 20), LARGE),
}


class Liar:
    """Stands where the insurer should; the real one answers, `bend` changes it."""

    def __init__(self, world: World) -> None:
        self.bend: Bend | None = None
        mine = world.tls("insurer")
        self._real = grpc_channel(world.running["insurer"].address, mine, world.tls("coordinator"), "insurer")
        methods = {"Embed": self._embed, "About": lambda frame, _: self._real.unary_unary(ABOUT)(frame, timeout=5)}
        handlers = {name: grpc.unary_unary_rpc_method_handler(method) for name, method in methods.items()}
        self._server = grpc.server(ThreadPoolExecutor(2), options=[("grpc.max_send_message_length", -1)])
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("privee.Party", handlers),))
        pair = mine.key.read_bytes(), mine.cert.read_bytes()
        credentials = grpc.ssl_server_credentials([pair], mine.ca.read_bytes(), require_client_auth=True)
        self.address = f"127.0.0.1:{self._server.add_secure_port('127.0.0.1:0', credentials)}"
        self._server.start()

    def _embed(self, frame: bytes, context: grpc.ServicerContext) -> bytes:
        reply = self._real.unary_unary(EMBED)(frame, timeout=5)
        count = json.loads(reply[4 : 4 + struct.unpack(">I", reply[:4])[0]])["shape"][0]
        if self.bend is None:
            return reply
        return self.bend(EmbedReply.decode(reply, count))

    def close(self) -> None:
        self._server.stop(0)
        self._real.close()


@pytest.fixture(scope="module")
def liar(world: World) -> Iterator[Liar]:
    made = Liar(world)
    yield made
    made.close()


@pytest.mark.parametrize("how", BENT)
def test_a_party_that_lies_is_named_and_the_others_go_on(world, liar, how):
    bend, words = BENT[how]

    async def work(channel: PartyChannel) -> tuple:
        first = await channel.embeddings(SOME)
        liar.bend = bend
        try:
            answers = await asyncio.gather(*(channel.embeddings(SOME) for _ in range(3)), return_exceptions=True)
        finally:
            liar.bend = None
        assert {(type(answer), str(answer), answer.party) for answer in answers} == {(PartyError, words, "insurer")}
        return first, await channel.embeddings(SOME)

    channel = world.channel(addresses(world, insurer=liar.address), timeouts=PartyTimeouts(deadline=10))
    first, second = using(channel, work)
    assert all(np.array_equal(first[name], second[name]) for name in PARTIES)


def test_of_a_partys_own_words_nothing_is_passed_on(world, liar):
    def rude(_: EmbedReply) -> bytes:
        raise ValueError("a secret of somebody's " * 10)

    liar.bend = rude
    try:
        error, _ = failure(world.channel(addresses(world, insurer=liar.address)), SOME)
    finally:
        liar.bend = None
    assert (error.party, error.kind) == ("insurer", "refused")
    assert "secret" not in str(error)
