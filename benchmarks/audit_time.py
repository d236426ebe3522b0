"""What an audit of digits takes, attack by attack, and what its attacks leave: before and after a change.

    python benchmarks/audit_time.py --before OTHER/src   # that tree and this one, side by side
    python benchmarks/audit_time.py --before OTHER/src --one-in 4
    python benchmarks/audit_time.py --show

All tasks of the default audit of a model (digits, halves of the columns, mlp), or one in so many of them, one after the
other in one process, in processor seconds: what `privee audit` spreads over the cores. Both trees run at the same time,
task by task, since a busy neighbour makes processor seconds longer too. Stored in benchmarks/results/audit_time.json,
or audit_time_part.json for some of the tasks.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._shared.federation_jobs import digits_job
from privee.audit.grid import Grid, studies_of, tasks_of
from privee.audit.sources import subject_from_run
from privee.audit.task import Task, run_task
from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.vfl.experiment import train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.training import TrainingSettings

RESULTS = Path(__file__).parent / "results" / "audit_time.json"
PART = RESULTS.with_name("audit_time_part.json")


def measured(one_in: int) -> dict[str, Any]:
    """Processor seconds by attack, and of every task what is left of the best guess's error."""
    torch.set_num_threads(1)
    seconds: dict[str, float] = collections.Counter()
    left: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        parts = Partition.from_dict(dict(digits_job("mlp", 2).source["partition"]))
        run = Path(folder) / "run"
        train_run(
            run, from_dataset(load_dataset("digits"), parts), "mlp", TrainingSettings(epochs=40, scaling="standard")
        )
        subject, grid = subject_from_run(run), Grid(naive_once=True)
    start = time.process_time()
    studies = list(studies_of([subject], grid))
    seconds["guesses"] = time.process_time() - start
    tasks = {task.key: task for study in studies for task in tasks_of(study, grid, shown=True) if _taken(task, one_in)}
    for done, task in enumerate(tasks.values(), 1):
        sys.stdin.readline()  # until the other tree is as far
        start = time.process_time()
        finding = run_task(task)
        seconds[task.attack] += time.process_time() - start
        left["|".join([task.defense, task.attack, finding.attacker, str(task.seed)])] = finding.guess_normalised
        print(f"{done} of {len(tasks)}", flush=True)
    sys.stdin.readline()
    return {
        "one_in": one_in,
        "in_step": True,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "left": left,
    }


def _taken(task: Task, one_in: int) -> bool:
    """The same tasks of every tree."""
    return zlib.crc32("|".join([task.defense, task.attack, str(task.seed)]).encode()) % one_in == 0


def both(before: Path, one_in: int) -> dict[str, Any]:
    """Both trees at the same time, each in a process of its own; neither begins a task before the other does."""
    trees = {"before": before, "after": Path(__file__).parents[1] / "src"}
    words = [sys.executable, __file__, "--print", "--one-in", str(one_in)]
    running, found = {}, {}
    for name, tree in trees.items():
        env, pipe = os.environ | {"PYTHONPATH": str(tree)}, subprocess.PIPE
        running[name] = subprocess.Popen(words, env=env, stdin=pipe, stdout=pipe, text=True)  # noqa: S603
    while len(found) < len(trees):
        under_way = {name: process for name, process in running.items() if name not in found}
        for process in under_way.values():
            print(file=process.stdin, flush=True)
        for name, process in under_way.items():
            said = process.stdout.readline()  # type: ignore[union-attr]
            if not said:
                raise RuntimeError(f"the tree {name} ended too soon")
            if said.startswith("{"):
                found[name] = json.loads(said)
            else:
                print(f"\r{name}: {said.strip()} ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {name: found[name] for name in trees}


def show(stored: dict[str, Any]) -> None:
    before, after = (stored.get(name, {"seconds": {}, "left": {}}) for name in ("before", "after"))
    print(f"{'':40} {'before':>8} {'after':>8}  {'of it':>6}   left after, of left before: mean (least, most)")
    for attack in sorted(after["seconds"], key=lambda name: -after["seconds"][name]):
        old, new = before["seconds"].get(attack, 0.0), after["seconds"][attack]
        shared = [name for name in after["left"] if name.split("|")[1] == attack and before["left"].get(name)]
        ratios = [after["left"][name] / before["left"][name] for name in shared if after["left"][name] is not None]
        told = f"{sum(ratios) / len(ratios):.3f} ({min(ratios):.3f}, {max(ratios):.3f})" if ratios else ""
        print(f"{attack:40} {old:8.1f} {new:8.1f}  {new / old if old else float('nan'):6.2f}   {told}")
    old, new = (sum(one["seconds"].values()) for one in (before, after))
    print(f"{'all':40} {old:8.1f} {new:8.1f}  {new / old if old else float('nan'):6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="OTHER/src", help="the tree to compare with")
    parser.add_argument("--one-in", type=int, default=1, help="so many tasks stand for all: one of them is run")
    parser.add_argument("--print", action="store_true", help="measure the tree on the path, and print JSON alone")
    parser.add_argument("--show", action="store_true", help="print what is stored and measure nothing")
    given = parser.parse_args()
    if given.print:
        print(json.dumps(measured(given.one_in)))
        return
    results = RESULTS if given.one_in == 1 else PART
    if not given.show:
        if given.before is None:
            parser.error("give the tree to compare with: --before OTHER/src")
        results.write_text(json.dumps(both(given.before, given.one_in), indent=1) + "\n", encoding="utf-8")
    show(json.loads(results.read_text()))


if __name__ == "__main__":
    main()
