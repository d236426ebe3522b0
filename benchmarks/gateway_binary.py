"""A batch of 1,024 asked for by the protocol's stock clients: as JSON, in bytes over HTTP, and over gRPC, by turns.

    python benchmarks/gateway_binary.py           prints the table and stores benchmarks/results/gateway_binary.json

One gateway with TLS, protected and counted in SQLite, and two parties, all processes of their own on loopback; the
client is tritonclient's, from what it is given as NumPy arrays to the release as one. A turn asks once each way, in an
order that changes from turn to turn, so that a busy neighbour slows all alike; a ratio is the median over turns, with
the interval of 95 %. Processor time is the client's and the gateway's together. Bar: bytes take at most 0.8 of the
time that JSON takes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import tritonclient.grpc
import tritonclient.http
from rich.console import Console
from rich.table import Table

from privee.gateway.demo import MODEL, World, make_world, running

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._gateway.against import interval

RESULTS = Path(__file__).parent / "results" / "gateway_binary.json"
SERVED = (
    "--defense",
    "privee-u:rho=0.1",
    "--releases",
    "1000000000",
    "--variants",
    "none",
    "--tls",
    "--grpc-port",
    "0",
)
BATCH, COLUMNS, BAR = 1024, 32, 0.8
WAYS = ("json", "binary", "grpc")
CASES = {
    "ids as text": {"whole": False, "columns": False},
    "ids as whole numbers": {"whole": True, "columns": False},
    "ids as text, own columns": {"whole": False, "columns": True},
}
Ask = Callable[[], Any]


def askers(ready: Mapping[str, str], world: World, *, whole: bool, columns: bool) -> dict[str, Ask]:
    """The three ways to ask the same."""
    key, ca = f"Bearer {world.api_key('consumer', rate='100000000/minute')}", str(world.certs / "ca.pem")
    over_http = tritonclient.http.InferenceServerClient(
        ready["url"].partition("//")[2], ssl=True, ssl_options={"ca_certs": ca}, network_timeout=600
    )
    over_grpc = tritonclient.grpc.InferenceServerClient(ready["grpc"], ssl=True, root_certificates=ca)
    ids = np.array([str(number).encode() for number in range(BATCH)], dtype=object)
    rows = np.random.default_rng(0).random((BATCH, COLUMNS)).astype(np.float32)
    named = ("INT64", np.arange(BATCH)) if whole else ("BYTES", ids)
    given = {"entities": named} | ({"columns": ("FP32", rows)} if columns else {})

    def http(binary: bool) -> Any:
        module = tritonclient.http
        inputs = []
        for name, (datatype, values) in given.items():
            inputs.append(module.InferInput(name, list(values.shape), datatype))
            inputs[-1].set_data_from_numpy(values, binary_data=binary)
        wanted = [module.InferRequestedOutput("release", binary_data=binary)]
        return over_http.infer(MODEL, inputs, outputs=wanted, headers={"Authorization": key}).as_numpy("release")

    def grpc() -> Any:
        inputs = []
        for name, (datatype, values) in given.items():
            inputs.append(tritonclient.grpc.InferInput(name, list(values.shape), datatype))
            inputs[-1].set_data_from_numpy(values)
        return over_grpc.infer(MODEL, inputs, headers={"authorization": key}).as_numpy("release")

    return {"json": lambda: http(False), "binary": lambda: http(True), "grpc": grpc}


def row(case: str, ask: Mapping[str, Ask], gateway: psutil.Process, turns: int) -> dict[str, Any]:
    """Seconds and processor seconds of each way, turn by turn, as shares of JSON's."""
    own = psutil.Process()

    def cpu() -> float:
        return sum(sum(one.cpu_times()[:2]) for one in (own, gateway))

    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for turn in range(-3, turns):
        for way in WAYS[turn % 3 :] + WAYS[: turn % 3]:
            used, began = cpu(), time.perf_counter()
            if ask[way]().shape != (BATCH, 10):
                raise RuntimeError("not what was asked for")
            if turn >= 0:
                taken[way].append((time.perf_counter() - began, cpu() - used))
    found: dict[str, Any] = {"case": case}
    for way in WAYS:
        pairs = list(zip(taken[way], taken["json"], strict=True))
        found[way] = {
            "ms": 1e3 * statistics.median(one[0] for one in taken[way]),
            "least_ms": 1e3 * min(one[0] for one in taken[way]),
            "cpu_ms": 1e3 * statistics.mean(one[1] for one in taken[way]),
            "time": interval([mine[0] / text[0] for mine, text in pairs]),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few requests; nothing is stored")
    parser.add_argument("--turns", type=int, default=90)
    given = parser.parse_args()
    turns = 9 if given.quick else given.turns
    warnings.simplefilter("ignore", DeprecationWarning)  # gevent's own
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    found |= {"cores": os.cpu_count(), "tritonclient": version("tritonclient"), "turns": turns}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        world = make_world(Path(folder), model="mlp", epochs=5)
        gateway, _ = stack.enter_context(running(world, SERVED))
        process = psutil.Process(gateway.pid)
        found["load_before"] = os.getloadavg()[0]
        found["rows"] = [
            row(case, askers(gateway.ready, world, **given_as), process, turns) for case, given_as in CASES.items()
        ]
        found["load_after"] = os.getloadavg()[0]
    show(found)
    if not given.quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def show(found: Mapping[str, Any]) -> None:
    console = Console(width=130)
    table = Table("1024 entities", "way", "ms", "least ms", "of JSON's time", "processor ms, client and gateway", "")
    for one in found["rows"]:
        for way in WAYS:
            mine = one[way]
            share = "{ratio:.2f} ({low:.2f} to {high:.2f})".format(**mine["time"])
            verdict = "" if way == "json" else "met" if mine["time"]["ratio"] <= BAR else "NOT met"
            numbers = (f"{mine['ms']:.1f}", f"{mine['least_ms']:.1f}", share, f"{mine['cpu_ms']:.1f}")
            table.add_row(one["case"], way, *numbers, verdict)
    console.print(table)
    console.print(f"load {found['load_before']:.1f} to {found['load_after']:.1f}; bar {BAR}")


if __name__ == "__main__":
    main()
