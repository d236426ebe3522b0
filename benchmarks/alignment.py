"""What an alignment costs: time of every step and bytes of every message, half of each party's ids being common.

    python benchmarks/alignment.py          prints the table and stores benchmarks/results/alignment.json (some minutes)

All parties run one after the other on this machine, on all its cores; across machines the passive parties' steps
overlap. CPU seconds add up over cores, and other programs on the machine disturb them less than seconds. The result of
every run is compared with Python's own set intersection.
"""

from __future__ import annotations

import json
import os
import platform
import random
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import privee
from privee.data.alignment import ActiveAligner, PassiveAligner

RESULTS = Path(__file__).parent / "results" / "alignment.json"
CASES = [(10_000, 2), (10_000, 3), (100_000, 2), (100_000, 3)]
STEPS = {
    "request": "active: blind own ids",
    "answer": "passive: own set, response, blind own ids",
    "find": "active: find what is shared",
    "agreement": "active: common set, response",
    "check": "passive: find what is common, tag",
    "confirm": "active: compare tags",
}


def party_ids(size: int, parties: int) -> dict[str, list[str]]:
    """Half of the ids are everybody's, the others belong to one party; rows in random order."""
    shuffle = random.Random(size).shuffle
    common = [f"{i:012d}" for i in range(size // 2)]
    made = {}
    for number in range(1, parties + 1):
        made[f"party-{number}"] = [*common, *(f"{number}{i:011d}" for i in range(size - len(common)))]
        shuffle(made[f"party-{number}"])
    return made


def run(ids: dict[str, list[str]], tick: Callable[[int], None]) -> dict[str, Any]:
    (active_name, active_ids), *passive_ids = ids.items()
    seconds, cpu, sent = Counter[str](), Counter[str](), Counter[str]()

    def timed(step: str, work: Callable[..., Any], *arguments: Any) -> Any:
        started, cpu_started = time.perf_counter(), time.process_time()
        result = work(*arguments)
        seconds[step] += time.perf_counter() - started
        cpu[step] += time.process_time() - cpu_started
        sent[step] += len(result) if isinstance(result, bytes) else 0
        return result

    active = ActiveAligner(active_ids, passive=[name for name, _ in passive_ids], name=active_name, tick=tick)
    passive = {name: PassiveAligner(its, name=name, active=active_name, tick=tick) for name, its in passive_ids}
    for name, other in passive.items():
        answer = timed("answer", other.answer, timed("request", active.request, name))
        timed("find", active.receive_answer, name, answer)
    for name, other in passive.items():
        check = timed("check", other.check, timed("agreement", active.agreement, name))
        timed("confirm", active.receive_check, name, check)
    rows = {active_name: active.rows()} | {name: other.rows() for name, other in passive.items()}
    expected = sorted(set.intersection(*map(set, ids.values())))
    assert all([ids[name][row] for row in rows[name]] == expected for name in ids), "wrong alignment"  # noqa: S101
    return {
        "common": len(expected),
        "seconds": sum(seconds.values()),
        "cpu_seconds": sum(cpu.values()),
        "message_bytes": sum(sent.values()),
        "steps": [
            {"step": step, "seconds": seconds[step], "cpu_seconds": cpu[step], "message_bytes": sent[step]}
            for step in STEPS
        ],
    }


def measure() -> dict[str, Any]:
    rows = []
    for size, parties in CASES:
        with Progress(console=Console(stderr=True)) as bar:
            passes = (parties - 1) * (7 * size + size // 2)
            task = bar.add_task(f"{size:,} ids, {parties} parties", total=passes)
            costs = run(party_ids(size, parties), partial(bar.advance, task))
            rows.append({"ids": size, "parties": parties} | costs)
    versions = {"python": platform.python_version(), "openmined_psi": version("openmined_psi")}
    return {"versions": versions | {"privee": privee.__version__}, "cores": os.cpu_count(), "alignments": rows}


def show(results: dict[str, Any]) -> None:
    table = Table("ids per party", "parties", "step", "seconds", "CPU s", "bytes", title="Alignment, half in common")
    for row in results["alignments"]:
        case = f"{row['ids']:,}", str(row["parties"])
        for step in [*row["steps"], row]:
            name = STEPS[step["step"]] if "step" in step else "all"
            costs = f"{step['seconds']:.2f}", f"{step['cpu_seconds']:.2f}", f"{step['message_bytes']:,}"
            table.add_row(*case, name, *costs, end_section=name == "all")
    Console(width=110).print(table)


if __name__ == "__main__":
    measured = measure()
    show(measured)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(measured, indent=1) + "\n")
