"""Does a federated run end as the local one? Separate processes with mutual TLS; 2, 3 and 5 parties, two models, seals.

    python benchmarks/federation_same_result.py [EPOCHS]     default: 2; a few minutes

prints the table and stores benchmarks/results/federation_same_result.json. One project of five sites on the digits
dataset; each job is of its first 2, 3 or 5 sites. `difference` is the largest between any two weights of any role; the
bar is 1e-6, and for sealed sites, which get the secrets of the local run's parties, the codes must be the same. One of
the sealed jobs starts from the finished one before it, and is compared with `privee seal` of the local run. Ends with
exit code 1 if a job misses the bar or a code.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.federation.kits.admin import Admin, admin_of
from privee.federation.kits.policy import write_job
from privee.federation.kits.project import Project, create_project
from privee.federation.kits.run import run_job, wait_for_sites
from privee.federation.kits.simulator import assemble
from privee.federation.kits.start_kit import local_kits, parts_of
from privee.federation.settings import JobSettings, dataset_source
from privee.vfl.experiment import TrainingOutcome, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.seal import parse_seal
from privee.vfl.seal.drawing import KEY
from privee.vfl.seal.records import read_codes
from privee.vfl.seal.sealing import seal_run
from privee.vfl.training import TrainingSettings
from privee.vfl.weights import load_tensors

RESULTS = Path(__file__).parent / "results" / "federation_same_result.json"
MODELS, PARTIES, BAR = ("logistic", "mlp"), (2, 3, 5), 1e-6


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def job_of(model: str, parties: int, epochs: int) -> JobSettings:
    names, source = dataset_source("digits", parties=parties)
    training = TrainingSettings(epochs=epochs, learning_rate=0.01)
    times = {"answer_seconds": 120.0}
    return JobSettings(run=f"{model}-{parties}", parties=names, model=model, training=training, source=source, **times)


def sealed_job(run: str, seal: str, epochs: int, sensitive: tuple[str, ...] = (), **more: Any) -> JobSettings:
    """Three parties, both passive ones sealed; a sensitive column is the first one's."""
    job = job_of("mlp", 3, epochs)
    seals = {name: parse_seal(seal) for name in job.parties[1:]}
    seals |= {job.parties[1]: dataclasses.replace(parse_seal(seal), sensitive=sensitive)}
    return dataclasses.replace(job, run=run, seals=seals, **more)


def jobs_of(epochs: int) -> list[JobSettings]:
    plain = [job_of(model, parties, epochs) for model in MODELS for parties in PARTIES]
    return [
        *plain,
        sealed_job("joint", "codes=8,epsilon=2", epochs),
        sealed_job("sensitive", "codes=8,epsilon=2", epochs, ("pixel_4_4",)),
        sealed_job("own", "codes=8,epsilon=2,learn=own", epochs, ("pixel_4_4",)),
        sealed_job("start-from", "codes=8", epochs, start_from="mlp-3"),
    ]


def compared(one: Path, other: Path) -> dict[str, Any]:
    """How many weights two runs have, and the largest difference between them."""
    count, worst = 0, 0.0
    for file in sorted(one.glob("**/model.safetensors")):
        role = file.parent.name
        ours, theirs = load_tensors(file, role), load_tensors(other / file.relative_to(one), role)
        if ours.keys() != theirs.keys():
            raise SystemExit(f"the weights of {role} have other names")
        count += sum(tensor.numel() for tensor in ours.values())
        worst = max([worst, *(float((ours[name] - theirs[name]).abs().max()) for name in ours)])
    return {"weights": count, "difference": worst}


def local_run(job: JobSettings, folder: Path) -> TrainingOutcome:
    """The same in one process."""
    path = folder / job.run
    if job.start_from is not None:
        return seal_run(folder / job.start_from, path, next(iter(job.seals.values())))
    data = from_dataset(load_dataset("digits"), Partition.from_dict(dict(job.source["partition"])))
    return train_run(path, data, job.model, job.training, seals=job.seals)


def measure(admin: Admin, project: Project, job: JobSettings, folder: Path) -> dict[str, Any]:
    """The local run, and one job with the same settings and secrets."""
    local, places = local_run(job, folder / "local"), parts_of(project)
    here, there = folder / "local" / job.run, folder / job.run
    for site in job.seals:
        (places[site] / job.run).mkdir(parents=True)
        shutil.copy(here / "parties" / site / KEY, places[site] / job.run / KEY)
    started = time.perf_counter()
    state, coordinator = run_job(admin, write_job(folder / "job", job), folder / "fetched" / job.run)
    if "outcome" not in state:
        raise SystemExit(state)
    seconds = time.perf_counter() - started
    assemble(there, coordinator, {site: places[site] / job.run for site in job.parties})
    about = {"model": job.model, "parties": len(job.parties), "epochs": local.epochs} | sealed_as(job)
    accuracy = {"accuracy": state["outcome"]["test"]["accuracy"], "local_accuracy": local.test.accuracy}
    found = compared(here, there)
    if job.seals:
        pairs = [[read_codes(run / "parties" / site)[1] for run in (here, there)] for site in job.seals]
        found["other_codes"] = sum(int((one != other).sum()) for one, other in pairs)
    return about | found | accuracy | {"seconds": seconds, "load": os.getloadavg()[0]}


def sealed_as(job: JobSettings) -> dict[str, Any]:
    """In words; empty without seals."""
    if not job.seals:
        return {}
    seal = next(iter(job.seals.values()))
    started = {} if job.start_from is None else {"start_from": job.start_from}
    return {"seal": seal.spec, "sensitive": list(seal.sensitive)} | started


def main() -> None:
    epochs, rows = int(sys.argv[1]) if sys.argv[1:] else 2, []
    with tempfile.TemporaryDirectory(prefix="privee-") as name:
        folder, everybody = Path(name), job_of("mlp", max(PARTIES), epochs)
        project = create_project(folder / "project", everybody, port=free_port(), direct_port=free_port())
        with local_kits(project), admin_of(project, 120) as admin:
            wait_for_sites(admin, everybody.parties, 120)
            for job in jobs_of(epochs):
                rows.append(measure(admin, project, job, folder))
                print(json.dumps(rows[-1]), flush=True)
    columns = ("model", "parties", "seal", "epochs", "weights", "difference", "test accuracy", "of the local run", "s")
    table = Table(*columns)
    for row in rows:
        seal = " ".join([row.get("seal", "-"), *row.get("sensitive", ()), row.get("start_from", "")]).strip()
        head = [row["model"], str(row["parties"]), seal, str(row["epochs"]), f"{row['weights']:,}"]
        accuracies = [f"{row[name]:.2%}" for name in ("accuracy", "local_accuracy")]
        table.add_row(*head, f"{row['difference']:.1e}", *accuracies, f"{row['seconds']:.0f}")
    Console(width=120).print(table)
    RESULTS.write_text(json.dumps({"bar": BAR, "jobs": rows}, indent=1) + "\n")
    sys.exit(int(any(row["difference"] > BAR or row.get("other_codes", 0) for row in rows)))


if __name__ == "__main__":
    main()
