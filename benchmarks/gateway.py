"""What protection and ledger add to a joint prediction, and how many requests a gateway answers.

    python benchmarks/gateway.py                  prints the tables and stores benchmarks/results/gateway.json
    python benchmarks/gateway.py --against REV    this tree beside that of a git revision, by turns (gateway_against)

Two parties, two gateways on the same parties (one protected and counted in SQLite, one with neither), all separate
processes on loopback with TLS between gateway and parties. Latency: both gateways by turns, one request at a time.
Bar: protection and ledger add at most 30 % to the median. Throughput: 1, 8 and 64 clients, batches of 1, 32 and 1024.
"""

from __future__ import annotations

import argparse
import http.client
import json
import platform
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from privee.gateway.demo import MODEL, PARTIES, make_world

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._gateway import against

RESULTS = Path(__file__).parent / "results" / "gateway.json"
PROTECTED = ("--defense", "privee-u:rho=0.1", "--releases", "1000000000")
BARE = ("--defense", "none", "--uncounted")
ENTITIES = 1797
CLIENTS = (1, 8, 64)
BATCHES = (1, 32, 1024)
BAR = 1.30


class Asker:
    """One client with one connection."""

    def __init__(self, url: str, key: str, batch: int) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._batch, self._next = batch, 0

    def ask(self) -> None:
        data = [str((self._next + k) % ENTITIES) for k in range(self._batch)]
        self._next += self._batch
        tensor = {"name": "entities", "shape": [self._batch], "datatype": "BYTES", "data": data}
        self._connection.request("POST", f"/v2/models/{MODEL}/infer", json.dumps({"inputs": [tensor]}), self._headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}")

    def close(self) -> None:
        self._connection.close()


def latencies(askers: Sequence[Asker], rounds: int) -> list[list[float]]:
    """Seconds of each asker's requests, by turns, so that a busy neighbour slows all of them."""
    found: list[list[float]] = [[] for _ in askers]
    for _ in range(rounds):
        for asker, mine in zip(askers, found, strict=True):
            start = time.perf_counter()
            asker.ask()
            mine.append(time.perf_counter() - start)
    return found


def throughput(url: str, key: str, clients: int, batch: int, seconds: float) -> float:
    """Requests per second of this many clients."""
    counts = [0] * clients
    stop = time.perf_counter() + seconds

    def work(place: int) -> None:
        asker = Asker(url, key, batch)
        while time.perf_counter() < stop:
            asker.ask()
            counts[place] += 1
        asker.close()

    threads = [threading.Thread(target=work, args=(place,)) for place in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - start)


def compare(urls: dict[str, str], key: str, batch: int, rounds: int) -> dict[str, float]:
    askers = [Asker(url, key, batch) for url in urls.values()]
    latencies(askers, 30)
    # Medians of short blocks: their spread says how far to trust the ratio.
    blocks = [latencies(askers, rounds // 10) for _ in range(10)]
    for asker in askers:
        asker.close()
    medians = [[statistics.median(block[k]) for block in blocks] for k in range(len(askers))]
    ratios = [a / b for a, b in zip(medians[0], medians[1], strict=True)]
    protected, bare = (statistics.median(chain.from_iterable(block[k] for block in blocks)) for k in range(2))
    return {
        "batch": batch,
        "protected_ms": 1e3 * protected,
        "bare_ms": 1e3 * bare,
        "ratio": protected / bare,
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few requests; nothing is stored")
    parser.add_argument("--against", metavar="REV", help="a git revision to compare with")
    parser.add_argument("--turns", type=int, default=24, help="with --against: how many; 6 at least for an interval")
    given = parser.parse_args()
    if given.against:
        against.main(given.against, quick=given.quick, turns=given.turns)
    else:
        alone(quick=given.quick)


def alone(*, quick: bool) -> None:
    rounds, seconds = (60, 0.5) if quick else (600, 4.0)
    found: dict[str, object] = {"python": platform.python_version(), "machine": platform.machine()}
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder), model="mlp")
        parties = {name: world.party(name) for name in PARTIES}
        addresses = {name: party.wait_ready().ready["address"] for name, party in parties.items()}
        options = {"protected": PROTECTED, "bare": BARE}
        gateways = {name: world.gateway(addresses, given, name=name) for name, given in options.items()}
        try:
            urls = {name: gateway.wait_ready().ready["url"] for name, gateway in gateways.items()}
            key = world.api_key("consumer", rate="100000000/minute")
            found["latency"] = [compare(urls, key, batch, rounds if batch < 1024 else rounds // 3) for batch in BATCHES]
            found["throughput"] = [
                {"clients": clients, "batch": batch}
                | {name: throughput(url, key, clients, batch, seconds) for name, url in urls.items()}
                for batch in BATCHES
                for clients in CLIENTS
            ]
        finally:
            for process in (*gateways.values(), *parties.values()):
                process.stop()
    show(found)
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def show(found: dict[str, object]) -> None:
    console = Console()
    table = Table("entities", "protected and counted, ms", "neither, ms", "ratio (blocks)")
    for row in found["latency"]:  # type: ignore[attr-defined]
        spread = f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
        table.add_row(str(row["batch"]), f"{row['protected_ms']:.2f}", f"{row['bare_ms']:.2f}", spread)
    console.print(table)
    table = Table("entities", "clients", "requests/s", "entities/s", "neither, requests/s")
    for row in found["throughput"]:  # type: ignore[attr-defined]
        rate = row["protected"]
        table.add_row(
            str(row["batch"]), str(row["clients"]), f"{rate:,.0f}", f"{rate * row['batch']:,.0f}", f"{row['bare']:,.0f}"
        )
    console.print(table)
    first = found["latency"][0]["ratio"]  # type: ignore[index]
    console.print(f"bar: {BAR:.2f} for one entity; measured {first:.2f}: {'met' if first <= BAR else 'NOT met'}")


if __name__ == "__main__":
    main()
