"""Processor time of a prediction whose parties are asked, have handed codes over, or sit in the gateway itself.

    python benchmarks/sealed_processor.py      prints a table and stores benchmarks/results/sealed_processor.json

Processor time, not the clock: it tells the work that is there also on a machine that is busy with other things, where
three processes get three shares of it and one process gets one. Digits, eight codes, requests of 1024 entities, one
client, gateways by turns without a ledger; of every process its own time, and the steps of one in the gateway.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psutil
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._gateway.light_clients import Crowd
from benchmarks._sealed.code_gateways import CODES, PASSIVE, SECONDS, UNCOUNTED, make_worlds, start_parties
from privee.gateway.coordinator_model import load_coordinator_model
from privee.party.party_model import PartyModel
from privee.party.stores import Source, open_store
from privee.vfl.run_format import PartyDescription
from privee.vfl.seal.code_column import CodeColumn

RESULTS = Path(__file__).parent / "results" / "sealed_processor.json"
BATCH, REQUESTS, TURNS = 1024, 60, 6


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        worlds = make_worlds(Path(folder))
        world, before = worlds["sealed"], {one.pid for one in psutil.Process().children()}
        addresses = start_parties(stack, worlds, sealed_alone=True)["sealed"]
        parties = [one for one in psutil.Process().children() if one.pid not in before]
        handed = ("--codes", f"{PASSIVE}={world.folder / CODES}")
        plans = {
            "asked": (addresses, ()),
            "handed over": ({"active": addresses["active"]}, handed),
            "nobody asked": ({}, (*handed, "--local", "active=dataset")),
        }
        started = {
            name: stack.enter_context(world.gateway(dict(asked), (*UNCOUNTED, *more), name=name.replace(" ", "-")))
            for name, (asked, more) in plans.items()
        }
        key = world.api_key("consumer", rate="100000000/minute")
        crowds = {name: Crowd(one.wait_ready(SECONDS).address, key, 1, BATCH) for name, one in started.items()}
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in started}
        for turn in range(TURNS + 1):
            for name, crowd in crowds.items():
                own = psutil.Process(started[name].pid)
                start = (_cpu([own]), _cpu(parties))
                done, _ = crowd.ask(0.0, least=REQUESTS)
                if turn:
                    found[name].append((1e3 * (_cpu([own]) - start[0]) / done, 1e3 * (_cpu(parties) - start[1]) / done))
        medians = {name: [statistics.median(part) for part in zip(*rows, strict=True)] for name, rows in found.items()}
        steps = _steps(world)
    result = {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "batch": BATCH,
        "processor_ms": {name: {"gateway": own, "parties": others} for name, (own, others) in medians.items()},
        "steps_ms": steps,
    }
    print(json.dumps(result, indent=1))
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


def _cpu(processes: list[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def _steps(world) -> dict[str, float]:
    """Processor milliseconds of what a gateway that asks nobody does between request and answer."""
    folder, column = world.run / "parties" / "active", CodeColumn.read(world.folder / CODES)
    about, model = PartyDescription.read(folder), load_coordinator_model(world.run)
    store, bottom = open_store(folder, about, Source("dataset")), PartyModel.load(folder, about)
    entities = [str(k) for k in range(BATCH)]
    columns = store.find(entities).columns
    sent = {"active": bottom.embed(columns, entities), PASSIVE: column.find(entities)[0].astype("float32")[:, None]}
    work: dict[str, Callable[[], object]] = {
        "find the active party's rows": lambda: store.find(entities),
        "its part of the model": lambda: bottom.embed(columns, entities),
        "find codes": lambda: column.find(entities),
        "scores": lambda: model.scores(sent),
    }
    return {name: 1e3 * statistics.median(_thread_seconds(one) for _ in range(40)) for name, one in work.items()}


def _thread_seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


if __name__ == "__main__":
    main()
