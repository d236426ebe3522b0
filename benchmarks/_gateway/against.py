"""This tree beside that of a revision: the same model, parties of their own, gateways that are asked by turns.

A turn is a short block of requests to one tree's gateway and one to the other's, which goes first by turns too; a busy
neighbour then slows both alike. A ratio is the median over turns, with the interval in which the true median lies with
95 % certainty (order statistics; nothing is assumed of how turns are distributed, only that they are alike).
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import platform
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks._gateway.light_clients import Crowd
from benchmarks._gateway.trees import Gateway, Tree, commit_of, this_tree, tree_of
from benchmarks._shared.postgres_server import running_postgres
from privee.gateway.demo import World, make_world

RESULTS = Path(__file__).parents[1] / "results" / "gateway_against.json"
NEW, OLD = "here", "there"


@dataclasses.dataclass(frozen=True)
class Case:
    """What is asked, how a turn is long, and the bar: most time per request, as a share of the other tree's."""

    database: str
    batch: int
    clients: int
    seconds: float
    bar: float

    @property
    def title(self) -> str:
        return f"{self.batch} at once, {self.clients} client{'s' * (self.clients > 1)}, {self.database}"


CASES = (
    Case("SQLite", 1024, 1, 0.5, 0.6),
    Case("PostgreSQL", 1024, 1, 0.8, 0.45),
    Case("SQLite", 1, 64, 0.8, 1 / 1.8),
    Case("PostgreSQL", 1, 64, 0.8, 1 / 1.8),
    Case("SQLite", 1, 1, 0.5, 1.0),
)


def main(revision: str, *, quick: bool, turns: int = 24) -> None:
    turns = 4 if quick else turns
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        NEW: commit_of("HEAD"),
        OLD: commit_of(revision),
        "turns": turns,
    }
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        world = make_world(Path(folder), model="mlp", epochs=5)
        trees = {NEW: this_tree(Path(folder) / NEW), OLD: tree_of(revision, Path(folder) / OLD)}
        gateways = start(stack, world, trees)
        found["load_before"] = os.getloadavg()[0]
        found["rows"] = [row(case, gateways[case.database], turns) for case in CASES]
        found["load_after"] = os.getloadavg()[0]
    show(found)
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def start(stack: ExitStack, world: World, trees: Mapping[str, Tree]) -> dict[str, dict[str, Gateway]]:
    """For each database, a gateway of each tree."""
    server = stack.enter_context(running_postgres(durable=True))
    found: dict[str, dict[str, Gateway]] = {"SQLite": {}, "PostgreSQL": {}}
    for name, tree in trees.items():
        parties = tree.parties(stack, world)
        urls = {"SQLite": f"sqlite:///{tree.folder / 'ledger.db'}", "PostgreSQL": server.new_database()}
        for database, url in urls.items():
            found[database][name] = tree.gateway(stack, world, parties, f"gateway-{database.lower()}", url)
    return found


def row(case: Case, gateways: Mapping[str, Gateway], turns: int) -> dict[str, Any]:
    """Seconds and processor seconds of a request in both trees, turn by turn, and their ratios."""
    crowds = {name: Crowd(one.url, one.key, case.clients, case.batch) for name, one in gateways.items()}
    for crowd in crowds.values():
        crowd.ask(case.seconds, least=8)  # warm
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in gateways}
    for turn in range(turns):
        for name in (NEW, OLD) if turn % 2 else (OLD, NEW):
            before = gateways[name].cpu()
            answered, seconds = crowds[name].ask(case.seconds)
            taken[name].append((seconds / answered, (gateways[name].cpu() - before) / answered))
    for crowd in crowds.values():
        crowd.close()
    pairs = list(zip(taken[NEW], taken[OLD], strict=True))
    return {
        "case": case.title,
        "bar": case.bar,
        **{f"{name}_ms": 1e3 * statistics.median(turn[0] for turn in taken[name]) for name in taken},
        **{f"{name}_cpu_ms": 1e3 * statistics.median(turn[1] for turn in taken[name]) for name in taken},
        "time": interval([new[0] / old[0] for new, old in pairs]),
        "cpu": interval([new[1] / old[1] for new, old in pairs]),
    }


def interval(ratios: Sequence[float]) -> dict[str, float]:
    """The median and its interval of 95 %: between two of the sorted values, by how often a fair coin falls so."""
    ordered, count = sorted(ratios), len(ratios)
    outside, place = 0.0, 0
    while place < count // 2 and outside + math.comb(count, place) / 2**count <= 0.025:
        outside += math.comb(count, place) / 2**count
        place += 1
    place = max(place - 1, 0)
    return {"ratio": statistics.median(ordered), "low": ordered[place], "high": ordered[-1 - place]}


def show(found: dict[str, Any]) -> None:
    console = Console(width=150)
    console.print(f"here:  {found[NEW]}\nthere: {found[OLD]}\nload {found['load_before']:.1f}", highlight=False)
    table = Table("a request", "here, ms", "there, ms", "time", "processor, ms here / there", "processor", "bar", "")
    for one in found["rows"]:
        met = "met" if one["time"]["ratio"] <= one["bar"] else "NOT met"
        cpu = f"{one['here_cpu_ms']:.2f} / {one['there_cpu_ms']:.2f}"
        shown = (f"{one['here_ms']:.2f}", f"{one['there_ms']:.2f}", _spread(one["time"]), cpu, _spread(one["cpu"]))
        table.add_row(one["case"], *shown, f"{one['bar']:.2f}", met)
    console.print(table)
    console.print("time: of a request by the clients' clock over how many were answered; the gateway's processor time")


def _spread(one: Mapping[str, float]) -> str:
    return f"{one['ratio']:.2f} ({one['low']:.2f} to {one['high']:.2f})"
