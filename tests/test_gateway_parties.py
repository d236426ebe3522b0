"""Parties as real processes over real TLS: right answers, named errors in time, and nobody who is not who they say."""

import asyncio
import contextlib
import json
import logging
import signal
import socket
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privee.data.datasets import load_dataset
from privee.errors import PriveeError
from privee.gateway.parties.addresses import Address
from privee.gateway.parties.certificates import init_certificates
from privee.gateway.parties.channel import PartyChannel, Patience
from privee.gateway.parties.description import PartyDescription
from privee.gateway.parties.errors import PartyError
from privee.gateway.parties.frames import MAX_ENTITIES, About, EmbedReply, EmbedRequest, FrameError
from privee.gateway.parties.model import PartyModel
from privee.gateway.parties.server import PartyServer, PartyService
from privee.gateway.parties.serving import ServeSettings, serve_party
from privee.gateway.parties.sql_store import SqlStore
from privee.gateway.parties.stores import Found, MemoryStore, Source, open_store, read_preprocessing
from privee.gateway.parties.tls import TlsFiles
from privee.gateway.parties.wire import ABOUT, EMBED
from privee.gateway.processes import ServerProcess, start_party
from privee.vfl.experiment import open_run, partition_of, train_run
from privee.vfl.joint_data import from_dataset, from_tables
from privee.vfl.runs import RunFolder
from privee.vfl.training import TrainingSettings
from tests.postgres_server import postgres, postgres_url  # noqa: F401, RUF100 (fixtures)
from tests.test_cli import run

TINY = TrainingSettings(epochs=1, batch_size=32, learning_rate=1e-2)
PARTIES = ("active", "passive-1")
SLACK = 0.7  # seconds a busy machine may add to a deadline


# What is served: digits with two models, and two parties' tables in three forms each.


def person(k: int) -> str:
    return f"kunde-{k:04d}"


def make_tables(folder: Path) -> None:
    """The same rows as CSV, Parquet and SQLite, with missing cells, categories, codes and a constant column."""
    rng, count = np.random.default_rng(3), 90
    income, visits = (rng.random(count) * 1000).tolist(), rng.integers(0, 9, count).tolist()
    job, city = rng.choice(["clerk", "nurse", "judge"], count).tolist(), rng.choice(["north", "süd"], count).tolist()
    for k in range(0, count, 7):
        income[k] = job[(k + 1) % count] = city[(k + 2) % count] = None
    risk = ["high" if (x or 500) + 90 * v > 800 else "low" for x, v in zip(income, visits, strict=True)]
    ids = [person(k) for k in range(count)]
    bank = {"customer": ids, "income": income, "job": job, "same": [1.0] * count, "risk": risk}
    shop = {"customer": ids, "visits": visits, "city": city}
    for name, table in (("bank", bank), ("shop", shop)):
        arrow_parquet.write_table(pa.table(table), folder / f"{name}.parquet")
        rows = list(zip(*table.values(), strict=True))
        lines = [",".join("NA" if cell is None else str(cell) for cell in row) for row in [tuple(table), *rows]]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        with contextlib.closing(sqlite3.connect(folder / "tables.db")) as database, database:
            database.execute(
                f"CREATE TABLE {name} ({', '.join(f'{column} {sql(cells)}' for column, cells in table.items())})"
            )
            database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(table))})", rows)  # noqa: S608


def sql(cells: list[Any]) -> str:
    kinds = {int: "INTEGER", float: "REAL", str: "TEXT"}
    return kinds[type(next(cell for cell in cells if cell is not None))]


@dataclass
class World:
    folder: Path
    running: dict[str, ServerProcess] = field(default_factory=dict)

    def part(self, run_name: str, party: str) -> Path:
        return self.folder / run_name / "parties" / party

    def tls(self, role: str, certs: str = "certs") -> TlsFiles:
        return TlsFiles.from_folder(self.folder / certs / role)

    def log(self, key: str) -> Path:
        return self.folder / f"{key.replace('/', '-')}.log"

    def start(self, key: str, run_name: str, party: str, *data: object, listen: str = "127.0.0.1:0") -> ServerProcess:
        arguments = [str(argument) for argument in ("--data", *data)]
        certs = self.folder / "certs" / party
        started = start_party(self.part(run_name, party), arguments, certs, self.log(key), listen=listen).wait_ready()
        self.running[key] = started
        return started

    def channel(self, addresses: dict[str, str], **options: Any) -> PartyChannel:
        return PartyChannel(addresses, self.tls("coordinator"), **options)

    def shops(self) -> dict[str, str]:
        return {"bank": self.running["bank/csv"].address, "shop": self.running["shop/sql"].address}

    def digits(self) -> dict[str, str]:
        return {party: self.running[f"mlp/{party}"].address for party in PARTIES}

    def events(self, key: str, event: str) -> list[dict[str, Any]]:
        lines = [line for line in self.log(key).read_text().splitlines() if line.startswith("{")]
        return [told for told in map(json.loads, lines) if told["event"] == event]

    def logits(self, run_name: str, answer: dict[str, np.ndarray]) -> np.ndarray:
        top = open_run(self.folder / run_name, self.tables(run_name))[0].coordinator.learner.model
        with torch.inference_mode():
            return top([torch.from_numpy(values) for values in answer.values()]).numpy()

    def tables(self, run_name: str) -> dict[str, Path] | None:
        return {name: self.folder / f"{name}.csv" for name in ("bank", "shop")} if run_name == "tables" else None


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    dataset = load_dataset("digits")
    partition = partition_of(dataset, parties=2, adversary_fraction=None, how="random", seed=5)
    for model in ("logistic", "mlp"):
        train_run(folder / model, from_dataset(dataset, partition), model, TINY)
    make_tables(folder)
    files = {name: folder / f"{name}.csv" for name in ("bank", "shop")}
    columns = dict.fromkeys(files, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="risk", test_share=0.3, seed=1)
    train_run(folder / "tables", data, "logistic", TINY)
    init_certificates(folder / "certs", [*PARTIES, "bank", "shop"], ["localhost", "127.0.0.1"])
    init_certificates(folder / "strangers", [*PARTIES, "bank", "shop"], ["localhost", "127.0.0.1"])
    made = World(folder)
    jobs = [(f"mlp/{party}", "mlp", party, "dataset") for party in PARTIES]
    jobs += [("bank/csv", "tables", "bank", folder / "bank.csv")]
    jobs += [("shop/sql", "tables", "shop", f"sqlite:///{folder / 'tables.db'}", "--table", "shop")]
    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda job: made.start(*job), jobs))
        yield made
    finally:
        for process in made.running.values():
            process.kill()


def using(channel: PartyChannel, work: Callable[[PartyChannel], Awaitable[Any]]) -> Any:
    """Run a coroutine with a channel, and close it."""

    async def both() -> Any:
        try:
            return await work(channel)
        finally:
            await channel.close()

    return asyncio.run(both())


def failure(channel: PartyChannel, entities: list[str]) -> tuple[PartyError, float]:
    started = time.perf_counter()
    with pytest.raises(PartyError) as caught:
        using(channel, lambda channel: channel.embeddings(entities))
    return caught.value, time.perf_counter() - started


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


def test_every_kind_of_store_gives_the_very_same_columns(world):
    _, data = open_run(world.folder / "tables", world.tables("tables"))
    entities = [*data.ids[::-1], "kunde-9999"]
    for party in ("bank", "shop"):
        folder = world.part("tables", party)
        about = PartyDescription.read(folder)
        database = Source(f"sqlite:///{world.folder / 'tables.db'}", table=party)
        files = [Source(str(world.folder / f"{party}.{suffix}")) for suffix in ("csv", "parquet")]
        for source in (*files, database):
            store = open_store(folder, about, source)
            found = store.find(entities)
            store.close()
            assert found.unknown.tolist() == [False] * len(data.ids) + [True]
            assert np.array_equal(found.columns[:-1], data.columns[party][::-1])
            assert not found.columns[-1].any()


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
    assert sorted(calls) == [2, 2, 18]  # two leave at once; the rest together, entity 7 asked for once
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


# Who may talk to whom.


def call(address: str, method: str, frame: bytes, ca: TlsFiles, mine: TlsFiles | None, name: str) -> bytes:
    """A call without privee's own checks: whatever certificate is at hand."""
    mine_pem = (mine.key.read_bytes(), mine.cert.read_bytes()) if mine else ()
    credentials = grpc.ssl_channel_credentials(ca.ca.read_bytes(), *mine_pem)
    options = [("grpc.ssl_target_name_override", f"{name}.party.privee"), ("grpc.enable_http_proxy", 0)]
    with grpc.secure_channel(address, credentials, options) as channel:
        return channel.unary_unary(method)(frame, timeout=5)


@pytest.mark.parametrize(
    ("role", "certs", "code"),
    [
        ("shop", "certs", grpc.StatusCode.PERMISSION_DENIED),
        ("bank", "certs", grpc.StatusCode.PERMISSION_DENIED),
        ("coordinator", "strangers", grpc.StatusCode.UNAVAILABLE),
        (None, "certs", grpc.StatusCode.UNAVAILABLE),
    ],
)
def test_only_the_coordinator_may_ask(world, role, certs, code):
    address = world.running["bank/csv"].address
    frame = EmbedRequest((person(1),)).encode()
    asked = (ABOUT, b""), (EMBED, frame)
    assert [call(address, *one, world.tls("bank"), world.tls("coordinator"), "bank") for one in asked]
    mine = None if role is None else world.tls(role, certs)
    for one in asked:
        with pytest.raises(grpc.RpcError) as caught:
            call(address, *one, world.tls("bank"), mine, "bank")
        assert caught.value.code() is code


def test_one_party_cannot_pose_as_another(world):
    shop = world.running["shop/sql"].address
    error, _ = failure(world.channel({"bank": shop, "shop": shop}), [person(1)])
    assert (error.party, error.kind) == ("bank", "refused")
    assert "has not shown a certificate of its own name" in str(error)


def test_a_party_of_another_ca_is_refused(world):
    channel = PartyChannel(world.digits(), world.tls("coordinator", "strangers"))
    error, _ = failure(channel, ["1"])
    assert (error.party, error.kind) == ("active", "refused")


def test_the_gateway_needs_its_own_certificate_and_tls_off_loopback(world):
    with pytest.raises(PriveeError, match="is not the coordinator's certificate"):
        PartyChannel(world.digits(), world.tls("bank"))
    with pytest.raises(PriveeError, match="not a loopback address, so TLS is needed"):
        PartyChannel({"bank": "192.0.2.1:7001"}, None)
    part, source = world.part("tables", "bank"), Source("x.csv")
    code, _, err = run("party", "serve", part, "--data", "x.csv", "--listen", "0.0.0.0:0", cwd=world.folder)
    assert code == 2
    assert "0.0.0.0:0 is not a loopback address, so TLS is needed: give --certs" in err
    with pytest.raises(PriveeError, match="is not the certificate of party bank"):
        serve_party(ServeSettings(part, source, tls=world.tls("shop")))


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

    first, second = using(world.channel(world.digits(), patience=Patience(deadline=0.6)), work)
    assert np.array_equal(first["passive-1"], second["passive-1"])


def test_a_party_that_hangs_from_the_start(world):
    """It takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        channel = world.channel({"bank": address}, patience=Patience(deadline=0.5))
        error, seconds = failure(channel, [person(1)])
    assert (error.party, error.kind) == ("bank", "deadline")
    assert seconds < 0.5 + SLACK


def test_a_party_that_is_not_there_yet(world):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    error, seconds = failure(world.channel({"bank": address}), [person(1)])
    assert (error.party, error.kind) == ("bank", "unreachable")
    assert seconds < 2


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


# The server itself, in this process: what a well-behaved gateway never makes it do.


class SlowStore(MemoryStore):
    """As slow as a database can be."""

    def __init__(self, seconds: float) -> None:
        super().__init__(["a", "b"], np.full((2, 32), 0.5, dtype=np.float32))
        self.seconds = seconds

    def find(self, entities: Any) -> Found:
        time.sleep(self.seconds)
        return super().find(entities)


class BrokenStore(SlowStore):
    def find(self, entities: Any) -> Found:
        raise ZeroDivisionError(entities)


def stored(world: World, run_name: str, party: str, data: str) -> MemoryStore:
    folder = world.part(run_name, party)
    source = Source(data if data == "dataset" else str(world.folder / data))
    return open_store(folder, PartyDescription.read(folder), source)


@contextlib.asynccontextmanager
async def served(
    world: World,
    store: MemoryStore,
    run_name: str = "mlp",
    party: str = "active",
    *,
    listen: str = "127.0.0.1:0",
    tls: bool = False,
):
    folder = world.part(run_name, party)
    description = PartyDescription.read(folder)
    model = PartyModel(folder, description)
    about = About(party, model.weights, model.width, description.features, store.rows, "0")
    service = PartyService(about, model, store, tls=tls)
    server = await PartyServer.start(service, Address.parse(listen), world.tls(party).load() if tls else None)
    try:
        yield server
    finally:
        await server.stop(0)
        service.close()


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
            await asyncio.wait(tasks[:2])
            await asyncio.sleep(0.05)
            tasks[2].cancel()  # the first of the four that travel together now
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

    with caplog.at_level(logging.INFO, "privee.party"):
        asyncio.run(work())
    (record,) = (record for record in caplog.records if record.msg == "failed")
    assert record.fields["error"] == "ZeroDivisionError"
    assert "secret" not in str(vars(record))


def test_a_taken_port_is_told(world):
    async def work() -> None:
        async with served(world, SlowStore(0)) as server:
            with pytest.raises(PriveeError, match="cannot listen on"):
                async with served(world, SlowStore(0), listen=str(server.address)):
                    pass

    asyncio.run(work())


# Frames.

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=9), st.integers(0, 5), st.data())
def test_frames_come_back_as_they_were(entities, width, data):
    columns = None
    if width:
        cells = data.draw(st.lists(finite, min_size=width * len(entities), max_size=width * len(entities)))
        columns = np.array(cells, dtype=np.float32).reshape(len(entities), width)
    back = EmbedRequest.decode(EmbedRequest(tuple(entities), columns).encode())
    assert back.entities == tuple(entities)
    assert (back.columns is None) == (columns is None)
    assert columns is None or np.array_equal(back.columns, columns)
    reply = EmbedReply(np.ones((3, 2), dtype=np.float32), (1,), "a" * 64)
    assert EmbedReply.decode(reply.encode(), 3).unknown == (1,)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
headers = st.fixed_dictionaries({"entities": json_values | st.lists(st.text()), "columns": json_values}) | json_values


@st.composite
def hostile_frames(draw: st.DrawFn) -> bytes:
    """Noise, headers of the wrong sort with any length before and any numbers after, and good frames cut or bent."""
    if draw(st.booleans()):
        good = bytearray(EmbedRequest(("1", "2"), np.full((2, 32), 0.5, dtype=np.float32)).encode())
        for place in draw(st.lists(st.integers(0, len(good) - 1), max_size=4)):
            good[place] ^= draw(st.integers(1, 255))
        return bytes(good[: draw(st.integers(0, len(good)))])
    text = json.dumps(draw(headers), ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    length = draw(st.just(len(text)) | st.integers(0, 2**32 - 1))
    return draw(st.just(length.to_bytes(4, "big") + text) | st.just(b"")) + draw(st.binary(max_size=64))


@settings(max_examples=300)
@given(hostile_frames())
def test_hostile_frames_are_one_error(frame):
    for decode in (EmbedRequest.decode, lambda frame: EmbedReply.decode(frame, 2), About.decode):
        with contextlib.suppress(FrameError):
            decode(frame)


def framed(header: bytes, body: bytes = b"") -> bytes:
    return len(header).to_bytes(4, "big") + header + body


NASTY = [
    b"",
    b"\xff\xff\xff\xff",
    framed(b"[" * 100_000),
    framed(b'{"entities":["a"],"columns":[1,' + b"9" * 5000 + b"]}"),
    framed(b'{"entities":["a"],"columns":[1,2]}', b"\0" * 4),
    framed(b'{"entities":["a"],"columns":[1,1]}', np.float32("nan").tobytes()),
    framed(b'{"entities":["a"],"columns":[1,-1]}'),
    framed(b'{"entities":["a"],"columns":NaN}'),
    framed(b'{"entities":["\\ud800"],"columns":null}'),
    framed(b'{"entities":["a"],"columns":null}', b"more"),
    framed(b'{"entities":[],"columns":null}'),
    framed(json.dumps({"entities": ["a"] * (MAX_ENTITIES + 1), "columns": None}).encode()),
    framed(json.dumps({"entities": ["a" * 257], "columns": None}).encode()),
]


@pytest.mark.parametrize("frame", NASTY, ids=range(len(NASTY)))
def test_nasty_frames_are_refused(frame):
    with pytest.raises(FrameError):
        EmbedRequest.decode(frame)


def test_hostile_frames_never_end_a_server(world):
    address, mine = world.running["mlp/active"].address, world.tls("coordinator")
    pems = mine.ca.read_bytes(), mine.key.read_bytes(), mine.cert.read_bytes()
    options = [("grpc.ssl_target_name_override", "active.party.privee"), ("grpc.enable_http_proxy", 0)]
    with grpc.secure_channel(address, grpc.ssl_channel_credentials(*pems), options) as channel:
        embed = channel.unary_unary(EMBED)

        def code(frame: bytes) -> grpc.StatusCode:
            try:
                embed(frame, timeout=10)
            except grpc.RpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        @settings(max_examples=80)
        @given(hostile_frames())
        def attack(frame: bytes) -> None:
            assert code(frame) in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OK)

        attack()
        assert {code(frame) for frame in NASTY} == {grpc.StatusCode.INVALID_ARGUMENT}
        assert code(bytes(65 << 20)) is grpc.StatusCode.RESOURCE_EXHAUSTED
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/privee.Party/Weights")(b"", timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert world.running["mlp/active"].running
    assert using(world.channel(world.digits()), lambda channel: channel.embeddings(["1"]))
    assert not world.events("mlp/active", "failed")


# Databases.


def odd_rows() -> list[tuple[Any, ...]]:
    """Id, visits, city: what a database holds that no file of the training had."""
    return [("1", 3, "north"), ("2", None, " süd "), ("3", 4.5, ""), ("4", 2, "moon"), ("007", 1, None)]


def expect_odd_rows(store: SqlStore, world: World) -> None:
    path = world.folder / "odd.csv"
    path.write_text("customer,visits,city\n1,3,north\n2,,süd\n3,4.5,\n4,2,moon\n007,1,\n", encoding="utf-8")
    folder = world.part("tables", "shop")
    expected = open_store(folder, PartyDescription.read(folder), Source(str(path))).find(["1", "2", "3", "4", "007"])
    entities = ["1", "x' OR '1'='1", "2", "7", "3", "a\0b", "4", "007", "1", "n" * 256]
    found = store.find(entities)
    assert found.unknown.tolist() == [False, True, False, True, False, True, False, False, False, True]
    assert np.array_equal(found.columns[[0, 2, 4, 6, 7]], expected.columns)
    assert np.array_equal(found.columns[8], expected.columns[0])
    assert not found.columns[found.unknown].any()
    assert store.find([str(k) for k in range(1, 1400)]).unknown.tolist() == [False] * 4 + [True] * 1395


def fitted(world: World):
    folder = world.part("tables", "shop")
    return read_preprocessing(folder, PartyDescription.read(folder))


@pytest.fixture
def odd_database(world, tmp_path) -> Path:
    """Names that must be quoted, and a column that is nobody's business."""
    path = tmp_path / "odd #%.db"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute('CREATE TABLE "shop; DROP" ("the id" TEXT, visits REAL, city TEXT, secret BLOB)')
        rows = [(*row, b"x") for row in odd_rows()]
        database.executemany('INSERT INTO "shop; DROP" VALUES (?, ?, ?, ?)', rows)
        database.execute("CREATE TABLE numbers (id INTEGER, visits TEXT, city TEXT)")
        rows = [
            (1, "3", "north"),
            (7, "2", "süd"),
            (8, "many", "süd"),
            (9, "1", "süd"),
            (9, "2", "süd"),
            (10, "1e999", ""),
        ]
        database.executemany("INSERT INTO numbers VALUES (?, ?, ?)", rows)
    return path


def test_a_sqlite_table_is_read_and_only_read(world, odd_database):
    before = odd_database.read_bytes()
    store = SqlStore(f"sqlite:///{odd_database}", "shop; DROP", "the id", fitted(world))
    try:
        expect_odd_rows(store, world)
        assert "secret" not in str(store._select)
        with pytest.raises(Exception, match="readonly"), store._engine.connect() as connection:
            connection.exec_driver_sql('DELETE FROM "shop; DROP"')
    finally:
        store.close()
    assert odd_database.read_bytes() == before


def test_rows_that_cannot_be_read_spoil_no_others(world, odd_database):
    """Whole-number ids: 7 is known, 007 is another name. Twice, not a number and infinite count as unknown."""
    store = SqlStore(f"sqlite:///{odd_database}", "numbers", "id", fitted(world))
    try:
        found = store.find(["1", "8", "7", "9", "10", "007", "99999999999999999999", "-1", "1"])
        assert found.unknown.tolist() == [False, True, False, True, True, True, True, True, False]
        assert np.array_equal(found.columns[[0, 2]], store.find(["1", "7"]).columns)
        assert found.columns[2].any()
    finally:
        store.close()


def test_a_postgresql_table_is_read_and_only_read(world, postgres_url):  # noqa: F811
    with psycopg.connect(postgres_url) as database:
        database.execute('CREATE SCHEMA "the shop"')
        columns = '"the id" text, visits numeric, city char(8), secret bytea'
        database.execute(f'CREATE TABLE "the shop"."a; DROP" ({columns})')
        with database.cursor() as cursor:
            insert = 'INSERT INTO "the shop"."a; DROP" VALUES (%s, %s, %s, %s)'
            cursor.executemany(insert, [(*row, b"x") for row in odd_rows()])
        database.execute("CREATE TABLE numbers (id int, visits int, city text)")
        database.execute("INSERT INTO numbers VALUES (1, 3, 'north'), (7, NULL, NULL)")
        database.execute("CREATE TABLE names (id uuid, visits int, city text)")
        database.execute("INSERT INTO names VALUES ('7b1f6b0e-6a0c-4d7e-8d7c-0123456789ab', 3, 'north')")
    stores = [SqlStore(postgres_url, "the shop.a; DROP", "the id", fitted(world))]
    try:
        expect_odd_rows(stores[0], world)
        with pytest.raises(Exception, match="read-only"), stores[0]._engine.connect() as connection:
            connection.exec_driver_sql('DELETE FROM "the shop"."a; DROP"')
        stores += [SqlStore(postgres_url, name, "id", fitted(world)) for name in ("numbers", "names")]
        found = stores[1].find(["7", "1", "007", "3000000000", "9999999999999999999", "x"])
        assert found.unknown.tolist() == [False, False, True, True, True, True]
        assert np.array_equal(found.columns[1], stores[0].find(["1"]).columns[0])
        name = "7b1f6b0e-6a0c-4d7e-8d7c-0123456789ab"
        assert stores[2].find([name, name.upper(), "x"]).unknown.tolist() == [False, True, True]
    finally:
        for store in stores:
            store.close()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Source("nowhere.csv"), "no such file"),
        (Source("{folder}/bank.csv"), "lacks columns"),
        (Source("{folder}/shop.csv", id_column="kunde"), "no column 'kunde'"),
        (Source("{folder}/shop.csv", table="shop"), "--table is for a database"),
        (Source("{folder}/twice.csv"), "1 duplicate id; first at data rows 1 and 3"),
        (Source("dataset"), "was trained on its own table"),
        (Source("sqlite:///{folder}/tables.db"), "Give --table NAME"),
        (Source("sqlite:///{folder}/tables.db", table="sh'op"), "the database has no table"),
        (Source("sqlite:///{folder}/tables.db", table="bank"), "has no column 'visits'"),
        (Source("sqlite:///{folder}/tables.db", table="shop", id_column="kunde"), "has no column 'kunde'"),
        (Source("sqlite:///{folder}/new.db", table="shop"), "cannot read the table 'shop': unable to open"),
        (Source("sqlite:///{folder}/shop.csv", table="shop"), "file is not a database"),
        (Source("sqlite:///{folder}/blobs.db", table="shop"), "column 'city' holds binary"),
        (Source("sqlite://", table="shop"), "is a file"),
        (Source("mysql://u:geheim@host/x", table="shop"), "SQLite or PostgreSQL, not from mysql"),
        (Source("://geheim", table="shop"), "a database's address is like"),
        (Source("postgresql://u:geheim@127.0.0.1:1/x", table="shop"), "cannot read the table 'shop'"),
    ],
)
def test_sources_that_cannot_be_served_are_told(world, source, words):
    (world.folder / "twice.csv").write_text("customer,visits,city\na,1,x\nb,1,x\na,2,x\n")
    with contextlib.closing(sqlite3.connect(world.folder / "blobs.db")) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS shop (customer TEXT, visits INTEGER, city BLOB)")
        database.execute("INSERT INTO shop VALUES ('a', 1, x'00')")
    folder = world.part("tables", "shop")
    data = source.data.format(folder=world.folder)
    with pytest.raises(PriveeError, match=words) as caught:
        open_store(folder, PartyDescription.read(folder), Source(data, source.table, source.id_column))
    assert "geheim" not in str(caught.value)
    assert "geheim" not in repr(source)
    assert "\n" not in str(caught.value)
    assert not (world.folder / "new.db").exists()


# Last: what the processes said, and how they end.


def test_a_folder_of_an_older_run_says_what_to_do(world, tmp_path):
    with pytest.raises(PriveeError, match=r"the party did not start: .*holds no party\.json.*party describe RUN"):
        start_party(tmp_path, ["--data", "x.csv"], None, tmp_path / "log").wait_ready()
    assert len((tmp_path / "log").read_text().splitlines()) == 1
    (tmp_path / "party.json").write_text('{"format": 2}')
    with pytest.raises(PriveeError, match="is of format 2; this privee reads 1"):
        PartyDescription.read(tmp_path)
    for text in ("", "[]", '{"format": 1}', '{"format": 1, "party": "a", "model": "mlp", "shape": [], "n_classes": 2}'):
        (tmp_path / "party.json").write_text(text)
        with pytest.raises(PriveeError, match=r"party\.json is damaged"):
            PartyDescription.read(tmp_path)


def test_logs_are_json_without_ids_and_a_stop_is_graceful(world):
    keys = ("bank/csv", "mlp/active")
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(lambda key: world.running[key].stop(), keys)) == [0, 0]
    for key in keys:
        first, *lines = world.log(key).read_text().splitlines()
        assert first.startswith("privee: party ")
        assert world.running[key].address in first
        events = [json.loads(line) for line in lines]
        assert [events[0]["event"], events[-1]["event"]] == ["ready", "stopped"]
        assert {"count", "seconds", "peer"} <= set(next(e for e in events if e["event"] == "embedded"))
        assert "kunde-" not in world.log(key).read_text()
    assert any(event["peer"] == "other" for event in world.events("bank/csv", "refused"))
