"""What crossing machines costs: federated steps against local ones, provisioned with mutual TLS on loopback.

    python benchmarks/federation.py [PARTIES ...]     default: 2 5 10; needs MNIST (see docs/data.md)

prints the table and stores benchmarks/results/federation.json. Every role is a process of its own, on one thread; the
model is the mlp on MNIST's 784 columns. A step is two exchanges, or one if pipelined; `transport` is their time without
the slowest site's own work. Bars: transport at batch 128 at most 10 ms for two parties and 25 ms for five; throughput
at batch 2048 at least 40 % of local. `direct` is a project with a direct port, `relayed` one without. The load average
is stored beside each figure: these are wall times, and a busy machine adds to them.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from rich.console import Console
from rich.table import Table

from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.federation.kits.admin import Admin, admin_of
from privee.federation.kits.policy import write_job
from privee.federation.kits.project import create_project
from privee.federation.kits.run import run_job, wait_for_sites
from privee.federation.kits.start_kit import local_kits
from privee.federation.settings import JobSettings, dataset_source
from privee.federation.wire.tensors import Packing
from privee.vfl import JointModel, make_models
from privee.vfl.joint_data import from_dataset
from privee.vfl.training import TrainingSettings

Case = tuple[int, Packing, bool]
"""Batch, packing, pipelined."""
RESULTS = Path(__file__).parent / "results" / "federation.json"
EPOCHS = {128: 1, 512: 2, 2048: 4}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def local_step(parties: int, batch: int, steps: int = 40) -> float:
    """Median seconds of a step with all roles in this process."""
    torch.set_num_threads(1)
    names, source = dataset_source("mnist", parties=parties)
    data = from_dataset(load_dataset("mnist"), Partition.from_dict(dict(source["partition"])))
    joint = JointModel(data.columns, data.labels, *make_models("mlp", data.shapes, 10, 0))
    for learner in joint.learners.values():
        learner.start(1e-3)
    coordinator, gradients = joint.coordinator, dict.fromkeys(names)
    coordinator.learner.mode(train=True)
    times = []
    for _ in range(steps):
        rows = torch.randint(60_000, (batch,))
        started = time.perf_counter()
        gradients = coordinator._train_batch(rows, gradients)
        times.append(time.perf_counter() - started)
    return statistics.median(times[5:])


def federated(admin: Admin, job: JobSettings, folder: Path) -> dict[str, Any]:
    """One job's cost of a step."""
    write_job(folder / "job", job)
    state, run = run_job(admin, folder / "job", folder / job.run)
    if "outcome" not in state:
        raise SystemExit(state)
    line = json.loads((run / "line.json").read_text())
    names = ["work and logits"] if job.training.pipeline else ["work", "logits"]
    kinds = [line["kinds"][f"training {name}"] for name in names]
    cost = {name: sum(kind[name] for kind in kinds) for name in ("seconds", "transport", "sent", "received")}
    return cost | {"accuracy": state["outcome"]["test"]["accuracy"], "step": line["step"]}


def measure(parties: int, *, direct: bool, cases: list[Case]) -> list[dict[str, Any]]:
    names, source = dataset_source("mnist", parties=parties)
    rows = []
    with tempfile.TemporaryDirectory(prefix="privee-") as name:
        folder = Path(name)

        def job(batch: int, packing: Packing = Packing.EXACT, pipeline: bool = False) -> JobSettings:
            training = TrainingSettings(epochs=EPOCHS[batch], batch_size=batch, pipeline=pipeline)
            run = f"b{batch}-{packing}-{pipeline}"
            settings = {"parties": names, "model": "mlp", "source": source, "answer_seconds": 120.0}
            return JobSettings(run=run, training=training, packing=packing, **settings)

        ports = {"port": free_port(), "direct_port": free_port() if direct else None}
        project = create_project(folder / "project", job(128), **ports)
        with local_kits(project), admin_of(project, 120) as admin:
            wait_for_sites(admin, names, 120)
            for batch, packing, pipeline in cases:
                local = local_step(parties, batch)
                found = federated(admin, job(batch, packing, pipeline), folder)
                local = statistics.mean([local, local_step(parties, batch)])
                about = {"parties": parties, "batch": batch, "packing": str(packing), "direct": direct}
                about |= {"pipeline": pipeline}
                rows.append(about | found | {"local": local, "load": os.getloadavg()[0]})
                store(rows[-1:])
    return rows


def cases_of(parties: int, *, direct: bool) -> list[Case]:
    """Every batch size; what fewer bits and a pipeline gain at both ends of them, with two parties."""
    exact: list[Case] = [(batch, Packing.EXACT, False) for batch in EPOCHS]
    ends = (128, 2048)
    pipelined: list[Case] = [(batch, Packing.EXACT, True) for batch in ends]
    fewer: list[Case] = [(batch, packing, False) for batch in ends for packing in (Packing.FP16, Packing.INT8)]
    if parties == 2:
        return exact + pipelined + (fewer if direct else [])
    return exact + pipelined[:1] if direct else exact


def store(rows: list[dict[str, Any]]) -> None:
    """Put new figures in the place of old ones; nothing is lost if the rest is not measured."""
    kept = {_case(row): row for row in (json.loads(RESULTS.read_text())["steps"] if RESULTS.exists() else [])}
    kept |= {_case(row): row for row in rows}
    RESULTS.write_text(json.dumps({"steps": [kept[case] for case in sorted(kept)]}, indent=1) + "\n")


def _case(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["parties"], row["direct"], row.get("pipeline", False), row["packing"], row["batch"]


def main() -> None:
    results: list[dict[str, Any]] = []
    for parties in [int(word) for word in sys.argv[1:]] or [2, 5, 10]:
        for direct in (False, True):
            results += measure(parties, direct=direct, cases=cases_of(parties, direct=direct))
    heads = "parties;batch;line;packing;pipelined;step, ms;local, ms;share;transport, ms;KB/step;accuracy"
    table = Table(*heads.split(";"))
    for row in results:
        line = "direct" if row["direct"] else "relayed"
        times = [f"{1e3 * row[name]:.1f}" for name in ("step", "local")]
        more = [f"{row['local'] / row['step']:.0%}", f"{1e3 * row['transport']:.1f}"]
        size = f"{(row['sent'] + row['received']) / 1e3:.0f}"
        head = [str(row["parties"]), str(row["batch"]), line, row["packing"], "yes" if row["pipeline"] else ""]
        table.add_row(*head, *times, *more, size, f"{row['accuracy']:.1%}")
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
