"""What parties serve in tests: digits with two models, and two parties' tables in three forms each."""

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
import torch
from benchmarks._shared.party_door import grpc_channel, old_certificate

from privee.data.datasets import load_dataset
from privee.gateway.channel.party_channel import PartyChannel
from privee.party.errors import PartyError
from privee.pki.certificates import init_certificates
from privee.pki.identity import TlsFiles
from privee.processes import ServerProcess, start_party
from privee.vfl.experiment import open_run, partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.own_tables import from_tables
from privee.vfl.training import TrainingSettings

TINY = TrainingSettings(epochs=1, batch_size=32, learning_rate=1e-2)
PARTIES = ("active", "passive-1")
SLACK = 0.7  # seconds a busy machine may add to a deadline


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


def make_world(folder: Path) -> World:
    """Everything but the processes."""
    dataset = load_dataset("digits")
    partition = partition_of(dataset, parties=2, adversary_fraction=None, how="random", seed=5)
    for model in ("logistic", "mlp"):
        train_run(folder / model, from_dataset(dataset, partition), model, TINY)
    return make_shops(folder)


def make_shops(folder: Path) -> World:
    """The tables alone, and all certificates."""
    make_tables(folder)
    files = {name: folder / f"{name}.csv" for name in ("bank", "shop")}
    columns = dict.fromkeys(files, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="risk", test_share=0.3, seed=1)
    train_run(folder / "tables", data, "logistic", TINY)
    init_certificates(folder / "certs", [*PARTIES, "bank", "shop"], ["localhost", "127.0.0.1"])
    init_certificates(folder / "strangers", [*PARTIES, "bank", "shop"], ["localhost", "127.0.0.1"])
    old_certificate(folder / "certs", "old-shop")
    return World(folder)


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


def call(address: str, method: str, frame: bytes, ca: TlsFiles, mine: TlsFiles | None, name: str) -> bytes:
    """One call, with whatever certificate is at hand."""
    with grpc_channel(address, ca, mine, name) as channel:
        return channel.unary_unary(method)(frame, timeout=5)
