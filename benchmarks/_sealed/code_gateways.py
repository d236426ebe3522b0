"""Gateways side by side, and how many predictions a second each gives to several clients at once."""

from __future__ import annotations

import http.client
import json
import statistics
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from privee.gateway.demo import MODEL, World, make_world
from privee.party.exporting import export_codes
from privee.party.ledger.settings import LedgerSettings
from privee.processes import start_party
from privee.vfl.experiment import open_run, train_run, trained_data
from privee.vfl.run_format import PartyDescription
from privee.vfl.runs import RunFolder
from privee.vfl.seal import Seal
from privee.vfl.training import TrainingSettings

PASSIVE, CODES = "passive-1", "codes.parquet"
ENTITIES = 1797
SECONDS = 600.0  # a busy machine takes long to start so many processes
UNCOUNTED = ("-d", "none", "--uncounted")
COUNTED = ("-d", "none", "--variants", "none")


def make_worlds(folder: Path) -> dict[str, World]:
    """The same model on digits twice, sealed and not; the sealed party has handed its codes over as well."""
    unsealed = make_world(_made(folder / "unsealed"), model="mlp", epochs=5)
    place = _made(folder / "sealed")
    _, data = open_run(unsealed.run)
    settings = TrainingSettings(**RunFolder.open(unsealed.run).config["training"])
    train_run(place / MODEL, trained_data(unsealed.run, data), "mlp", settings, seals={PASSIVE: Seal(codes=8)})
    sealed = make_world(place)
    export_codes(sealed.run / "parties" / PASSIVE, place / CODES, LedgerSettings())
    return {"unsealed": unsealed, "sealed": sealed}


def start_parties(
    stack: ExitStack, worlds: Mapping[str, World], *, sealed_alone: bool = False
) -> dict[str, dict[str, str]]:
    """Where the parties of both worlds listen; of those who are not sealed, also one that counts by itself."""
    if sealed_alone:
        parties = {name: stack.enter_context(worlds["sealed"].party(name)) for name in worlds["sealed"].parties}
        return {"sealed": {name: process.wait_ready(SECONDS).address for name, process in parties.items()}}
    started = {kind: {name: world.party(name) for name in world.parties} for kind, world in worlds.items()}
    plain = worlds["unsealed"]
    counts = ["--data", "dataset", "--ledger", str(plain.folder / "own" / "ledger.db")]
    _made(plain.folder / "own")
    counting = start_party(
        plain.run / "parties" / PASSIVE, counts, plain.certs / PASSIVE, plain.folder / "counting.log"
    )
    started["unsealed that counts"] = {"active": started["unsealed"]["active"], PASSIVE: counting}
    for process in {id(one): one for parties in started.values() for one in parties.values()}.values():
        stack.enter_context(process)
    return {
        kind: {name: process.wait_ready(SECONDS).address for name, process in parties.items()}
        for kind, parties in started.items()
    }


def start_gateways(
    stack: ExitStack, worlds: Mapping[str, World], addresses: Mapping[str, Mapping[str, str]]
) -> dict[str, tuple[str, str]]:
    """Addresses and keys of gateways that ask these parties, or have the codes; with a ledger and without."""
    sealed, plain = worlds["sealed"], worlds["unsealed"]
    handed = ("--codes", f"{PASSIVE}={sealed.folder / CODES}")
    plans: dict[str, tuple[World, Mapping[str, str], Sequence[str]]] = {
        "asked": (sealed, addresses["sealed"], ()),
        "handed over": (sealed, {"active": addresses["sealed"]["active"]}, handed),
        "nobody asked": (sealed, {}, (*handed, "--local", "active=dataset")),
    }
    if "unsealed" in addresses:
        plans["unsealed"] = (plain, addresses["unsealed"], ())
        plans["unsealed that counts"] = (plain, addresses["unsealed that counts"], ())
    keys = {world.folder: world.api_key("consumer", rate="100000000/minute") for world in worlds.values()}
    found = {}
    for count, options in (("uncounted", UNCOUNTED), ("counted", COUNTED)):
        for name, (world, parties, more) in plans.items():
            gateway = world.gateway(dict(parties), (*options, *more), name=f"{count}-{name.replace(' ', '-')}")
            found[f"{name}, {count}"] = (stack.enter_context(gateway), keys[world.folder])
    return {name: (gateway.wait_ready(SECONDS).address, key) for name, (gateway, key) in found.items()}


class Asker:
    """One client with one connection; all its requests are made before."""

    def __init__(self, url: str, key: str, batch: int, columns: int = 0) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        starts = range(0, ENTITIES, batch) if batch < ENTITIES else (0, 400)
        self._bodies = [infer_body([str((start + k) % ENTITIES) for k in range(batch)], columns) for start in starts]
        self._next = 0

    def ask(self) -> None:
        body = self._bodies[self._next % len(self._bodies)]
        self._next += 1
        self._connection.request("POST", f"/v2/models/{MODEL}/infer", body, self._headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}")

    def close(self) -> None:
        self._connection.close()


def rates(
    places: Sequence[tuple[str, str]], batch: int, *, clients: int, seconds: float, blocks: int, columns: int = 0
) -> list[list[float]]:
    """Entities per second of every gateway in short turns: a busy neighbour slows all alike. Turns are rows."""
    crowds = [[Asker(url, key, batch, columns) for _ in range(clients)] for url, key in places]
    for crowd in crowds:  # warm: connections, and every entity once
        for _ in range(min(len(crowd[0]._bodies), 64)):
            crowd[0].ask()
    turns = [[_rate(crowd, seconds) * batch for crowd in crowds] for _ in range(blocks)]
    for asker in (asker for crowd in crowds for asker in crowd):
        asker.close()
    return turns


def compared(turns: Sequence[Sequence[float]], first: int, second: int) -> dict[str, float]:
    """How many times as much the first gives as the second: the median of the turns, and their middle half."""
    ratios = sorted(turn[first] / turn[second] for turn in turns)
    return {"ratio": statistics.median(ratios), "low": ratios[len(ratios) // 4], "high": ratios[-1 - len(ratios) // 4]}


def features(world: World) -> int:
    """Numbers in a row of the active party's columns."""
    return PartyDescription.read(world.run / "parties" / "active").features


def _rate(crowd: Sequence[Asker], seconds: float) -> float:
    counts, stop = [0] * len(crowd), time.perf_counter() + seconds

    def work(place: int) -> None:
        while time.perf_counter() < stop:
            crowd[place].ask()
            counts[place] += 1

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(crowd))]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - start)


def infer_body(entities: Sequence[str], columns: int) -> bytes:
    """A request, with so many numbers of the active party's own for each entity."""
    count = len(entities)
    tensors: list[dict[str, Any]] = [_tensor("entities", [count], "BYTES", list(entities))]
    if columns:
        tensors.append(_tensor("columns", [count, columns], "FP32", [0.5] * (columns * count)))
    return json.dumps({"inputs": tensors}).encode()


def _tensor(name: str, shape: list[int], datatype: str, data: list[Any]) -> dict[str, Any]:
    return {"name": name, "shape": shape, "datatype": datatype, "data": data}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
