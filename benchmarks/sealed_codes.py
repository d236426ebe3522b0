"""What it brings that a sealed party hands over its codes once and goes home; and what a seal costs while it is asked.

    python benchmarks/sealed_codes.py          prints the tables and stores benchmarks/results/sealed_codes.json
    python benchmarks/sealed_codes.py --quick  a few turns; nothing is stored

Digits, a network of two fully connected parts, the passive party sealed with eight codes. Gateways on the same
parties, all separate processes on loopback with TLS between gateway and parties: asking a sealed party, with its codes
in a file (`--codes`), with the active party's table in the gateway as well (`--local`, so that nobody is asked), asking
one that is not sealed, and one that is not sealed but counts by itself; each without a ledger at the gateway, and with
one. Several clients; gateways take short turns, so that a busy neighbour slows all alike, and ratios are of turns. Then
the same by the coordinator's own code, without HTTP, step by step; and a column of ten million codes. Bars: nobody
asked, five times the predictions at 1024 entities; asked, sealed no slower than not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._sealed.code_gateways import compared, features, make_worlds, rates, start_gateways, start_parties
from benchmarks._sealed.code_steps import gateway_steps, local_predictions

RESULTS = Path(__file__).parent / "results" / "sealed_codes.json"
BRIEF = RESULTS.with_name("sealed_codes_brief.json")
BATCHES = (1, 32, 1024)
CLIENTS = 4
COUNTS = ("uncounted", "counted")
FASTER, MANY = 5.0, 10_000_000
RATIOS = {
    "handed over to asked": ("handed over", "asked"),
    "nobody asked to asked": ("nobody asked", "asked"),
    "sealed to unsealed, both asked": ("asked", "unsealed"),
    "sealed to unsealed that counts": ("asked", "unsealed that counts"),
    "handed over to unsealed": ("handed over", "unsealed"),
}


def measure(folder: Path, *, quick: bool, brief: bool) -> dict[str, Any]:
    seconds, blocks = (0.2, 2) if quick else (0.4, 8)
    with ExitStack() as stack:
        worlds = make_worlds(folder)
        addresses = start_parties(stack, worlds, sealed_alone=brief)
        gateways = start_gateways(stack, worlds, addresses)
        rows = []
        own = [] if brief else [(1024, features(worlds["sealed"]))]
        for batch, columns in [*((batch, 0) for batch in BATCHES), *own]:
            turns = rates(
                list(gateways.values()), batch, clients=CLIENTS, seconds=seconds, blocks=blocks, columns=columns
            )
            rows.append({"batch": batch, "columns": columns > 0} | _row(list(gateways), turns))
        rounds = 10 if quick else 60
        local = local_predictions(worlds["sealed"], addresses["sealed"], BATCHES, rounds)
        steps = gateway_steps(worlds["sealed"], 1024, rounds)
    return {"gateways": rows, "local_ms": local, "steps_ms": steps}


def _row(names: Sequence[str], turns: list[list[float]]) -> dict[str, Any]:
    """Entities per second by gateway, and the ratios of each pair of them."""
    found: dict[str, Any] = {"rates": dict(zip(names, map(statistics.median, zip(*turns, strict=True)), strict=True))}
    for count in COUNTS:
        there = {what: pair for what, pair in RATIOS.items() if all(f"{one}, {count}" in names for one in pair)}
        pairs = {what: [names.index(f"{one}, {count}") for one in pair] for what, pair in there.items()}
        found[count] = {what: compared(turns, *pair) for what, pair in pairs.items()}
    return found


def many(folder: Path, count: int) -> dict[str, Any]:
    """A column of so many codes, written and read in processes of their own."""
    script, file = Path(__file__).parent / "_sealed" / "many_codes.py", folder / "many.parquet"
    found: dict[str, Any] = {"entities": count}
    for what in ("write", "read"):
        command = [sys.executable, str(script), what, str(file), str(count)]
        found[what] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
    return found


def show(found: dict[str, Any]) -> None:
    console = Console(width=160)
    table = Table("entities", *(f"{name}\nper second" for name in found["gateways"][0]["rates"]))
    for row in found["gateways"]:
        table.add_row(_batch(row), *(f"{rate:,.0f}" for rate in row["rates"].values()))
    console.print(table)
    ratios = list(found["gateways"][0][COUNTS[0]])
    table = Table("entities", "gateway", *(f"{what}\n(middle half of turns)" for what in ratios))
    for row in found["gateways"]:
        for count in COUNTS:
            table.add_row(_batch(row), count, *(_spread(row[count][what]) for what in ratios))
    console.print(table)
    names = [name for name in found["local_ms"][0] if name != "batch"]
    table = Table("entities", *(f"{name}, ms" for name in names), title="without HTTP and ledger, one at a time")
    for row in found["local_ms"]:
        table.add_row(str(row["batch"]), *(f"{row[name]:.2f}" for name in names))
    console.print(table)
    steps = ", ".join(f"{name} {took:.2f}" for name, took in found["steps_ms"].items())
    console.print(f"of a request with 1024 entities, ms in the gateway itself: {steps}")
    if "many" in found:
        console.print(json.dumps(found["many"], indent=1))
    best = next(row for row in found["gateways"] if row["batch"] == 1024)["uncounted"]["nobody asked to asked"]["ratio"]
    console.print(f"bar {FASTER:g} at 1024 entities: {best:.2f}, {'met' if best >= FASTER else 'NOT met'}")
    if "sealed to unsealed, both asked" not in ratios:
        return
    pairs = [row[count]["sealed to unsealed, both asked"] for row in found["gateways"] for count in COUNTS]
    worst = min(pair["ratio"] for pair in pairs)
    console.print(f"bar: sealed no slower than unsealed: {worst:.2f} at worst, {'met' if worst >= 1 else 'NOT met'}")


def _batch(row: dict[str, Any]) -> str:
    return f"{row['batch']}{', own columns sent' if row['columns'] else ''}"


def _spread(one: dict[str, float]) -> str:
    return f"{one['ratio']:.2f} ({one['low']:.2f} to {one['high']:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few turns, no ten million; nothing is stored")
    parser.add_argument("--brief", action="store_true", help="sealed gateways alone; sealed_codes_brief.json")
    given = parser.parse_args()
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }
    with tempfile.TemporaryDirectory() as folder:
        found |= measure(Path(folder), quick=given.quick, brief=given.brief)
        if not given.quick and not given.brief:
            found["many"] = many(Path(folder), MANY)
    found["load"] = os.getloadavg()[0]
    show(found)
    if not given.quick:
        (BRIEF if given.brief else RESULTS).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
