"""What an alignment costs: time of every step and bytes of every message, half of each party's ids being common.

    python benchmarks/alignment.py          prints the table and stores benchmarks/results/alignment.json (some minutes)
    python benchmarks/alignment.py --against SRC --sizes 10000,100000 --rounds 3
                                            in turns with another checkout's src; results/alignment_ratio.json
    python benchmarks/alignment.py --engine spu --sizes 100000,1000000
                                            the second engine (PRIVEE_SPU_PYTHON); results/alignment_spu.json

All parties run one after the other on this machine, on all its cores; across machines the passive parties' steps
overlap. CPU seconds add up over cores, and other programs on the machine disturb them less than seconds. The result of
every run is compared with Python's own set intersection.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import subprocess
import sys
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

RESULTS = Path(__file__).parent / "results"
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


def measure(sizes: list[int]) -> dict[str, Any]:
    rows = []
    for size, parties in [case for case in CASES if not sizes or case[0] in sizes]:
        with Progress(console=Console(stderr=True)) as bar:
            task = bar.add_task(f"{size:,} ids, {parties} parties", total=(parties - 1) * 4 * size)
            costs = run(party_ids(size, parties), partial(bar.advance, task))
            rows.append({"ids": size, "parties": parties, "load": os.getloadavg()[0]} | costs)
    return about() | {"alignments": rows}


def about() -> dict[str, Any]:
    versions = {"python": platform.python_version(), "openmined_psi": version("openmined_psi")}
    return {"versions": versions | {"privee": privee.__version__}, "cores": os.cpu_count()}


def one(size: int) -> None:
    """One alignment of two parties, for a comparison: this checkout's or another's, whichever is on the path."""
    costs = run(party_ids(size, 2), lambda ids: None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({name: costs[name] for name in ("seconds", "cpu_seconds", "message_bytes")} | {"peak_mb": peak}))


def compare(other: str, sizes: list[int], rounds: int) -> dict[str, Any]:
    """Both checkouts in turns, each in a process of its own, the order changing: what disturbs one disturbs both."""
    rows = []
    for size in sizes:
        for turn in range(rounds):
            both = {"before": other, "now": str(Path(privee.__file__).parents[1])}
            order = list(both)[:: 1 if turn % 2 == 0 else -1]
            costs = {which: _apart(both[which], size) for which in order}
            ratios = {
                name: costs["now"][name] / costs["before"][name] for name in ("seconds", "cpu_seconds", "message_bytes")
            }
            rows.append({"ids": size, "load": os.getloadavg()[0], "ratio": ratios} | costs)
            print(json.dumps(rows[-1]), file=sys.stderr)
            store("alignment_ratio.json", about() | {"comparisons": rows})  # rounds are long: none is lost
    return about() | {"comparisons": rows}


def _apart(src: str, size: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", str(size)]
    told = subprocess.run(command, env=os.environ | {"PYTHONPATH": src}, check=True, capture_output=True)  # noqa: S603
    return dict(json.loads(told.stdout))


def measure_spu(sizes: list[int], parties: int = 2) -> dict[str, Any]:
    """The second engine: both parties and their workers on this machine; CPU of workers is counted when they end."""
    from privee.data.alignment.spu.one_machine import align_with_spu

    rows = []
    for size in sizes:
        ids = party_ids(size, parties)
        before, started = _cpu(), time.perf_counter()
        found = align_with_spu(ids, active="party-1")
        seconds, used = time.perf_counter() - started, [now - then for now, then in zip(_cpu(), before, strict=True)]
        expected = sorted(set.intersection(*map(set, ids.values())))
        assert all([ids[n][row] for row in rows] == expected for n, rows in found.rows.items()), "wrong"  # noqa: S101
        peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        rows.append(
            {"ids": size, "parties": parties, "load": os.getloadavg()[0], "common": found.size, "seconds": seconds}
            | {"own_cpu_seconds": used[0], "worker_cpu_seconds": used[1]}
            | {"own_peak_mb": peaks[0], "largest_worker_peak_mb": peaks[1]}
        )
        print(json.dumps(rows[-1]), file=sys.stderr)
    return about() | {"alignments": rows}


def _cpu() -> tuple[float, float]:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return used[0].ru_utime + used[0].ru_stime, used[1].ru_utime + used[1].ru_stime


def show(results: dict[str, Any]) -> None:
    table = Table("ids per party", "parties", "step", "seconds", "CPU s", "bytes", title="Alignment, half in common")
    for row in results["alignments"]:
        case = f"{row['ids']:,}", str(row["parties"])
        for step in [*row["steps"], row]:
            name = STEPS[step["step"]] if "step" in step else "all"
            costs = f"{step['seconds']:.2f}", f"{step['cpu_seconds']:.2f}", f"{step['message_bytes']:,}"
            table.add_row(*case, name, *costs, end_section=name == "all")
    Console(width=110).print(table)


def store(name: str, measured: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / name).write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--against", default="", help="src of another checkout")
    options.add_argument("--engine", default="openmined", choices=["openmined", "spu"])
    options.add_argument("--sizes", default="", help="ids per party, with commas")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--one", type=int, default=0, help=argparse.SUPPRESS)
    given = options.parse_args()
    wanted = [int(size) for size in given.sizes.split(",") if size]
    if given.one:
        one(given.one)
    elif given.against:
        store("alignment_ratio.json", compare(given.against, wanted or [10_000], given.rounds))
    elif given.engine == "spu":
        store("alignment_spu.json", measure_spu(wanted or [100_000, 1_000_000]))
    else:
        everything = measure(wanted)
        show(everything)
        store("alignment.json", everything)
