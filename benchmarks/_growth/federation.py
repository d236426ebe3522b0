"""Training and predicting with more and more parties: in one process, and with a process for each party.

In one process: an mlp on 784 columns shared among the parties, beside the same network as one plain PyTorch module, by
turns, in time of the processor. With processes: digits in NVFlare's simulator, a step as the coordinator waits for it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks._shared.cells import Cell
from benchmarks._shared.federation_jobs import digits_job
from benchmarks.vfl_step import ROWS, joint_step, make, plain_step
from privee.federation.kits import simulator
from privee.vfl.joint_model import COORDINATOR

PARTIES = (2, 3, 5, 10, 25)
COLUMNS, BATCH, ASKED, ROUNDS = 784, 128, 1024, 9
PATIENCE = 120.0
"""Seconds: 25 processes that start at once on few cores keep each other waiting."""
STEP = ("training work", "training logits")


class LocalCell(Cell):
    """The spec is the model, the seed is the number of parties."""

    @property
    def key(self) -> str:
        return f"{self.dataset}, {self.spec}, {self.seed} parties"

    def measured(self, folder: Path) -> dict[str, Any]:
        torch.set_num_threads(1)
        joint, plain = (make(self.spec, self.seed, COLUMNS) for _ in range(2))
        steps = {"step": joint_step(joint), "plain": plain_step(plain, fused=True)}
        rows = [torch.randint(ROWS, (BATCH,)) for _ in range(max(6, 60 // self.seed))]
        took: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(ROUNDS):
            for name, step in steps.items():
                took[name].append(cpu_ms(lambda step=step: [step(chosen) for chosen in rows]) / len(rows))
        ratio = statistics.median(a / b for a, b in zip(took["step"], took["plain"], strict=True))
        asked = torch.randint(ROWS, (ASKED,))
        answers = [cpu_ms(lambda: joint.scores(asked)) for _ in range(ROUNDS)]
        found = {f"{name}_cpu_ms": statistics.median(times) for name, times in took.items()}
        found |= {"ratio": ratio, "prediction_cpu_ms": statistics.median(answers)}
        return {"parties": self.seed, "batch": BATCH, "asked": ASKED} | found | {"load": os.getloadavg()[0]}


class SimulatedCell(LocalCell):
    """What `privee federation simulate` does, without its end: what the line cost stays in the parts."""

    def measured(self, folder: Path) -> dict[str, Any]:
        job = dataclasses.replace(digits_job(self.spec, self.seed, batch_size=BATCH), answer_seconds=PATIENCE)
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir=folder) as name:
            parts = Path(name) / "parts"
            simulator._prepare(Path(name), job, {}, parts)
            status = parts / COORDINATOR / f"{job.run}.progress.json"
            state = simulator._followed(Path(name), job, status, lambda state: None)
            line = json.loads((parts / COORDINATOR / job.run / "line.json").read_text())
        kinds = [line["kinds"][name] for name in STEP]
        costs = {name: sum(kind[name] for kind in kinds) for name in ("transport", "sent", "received")}
        about = {"parties": self.seed, "batch": BATCH, "step": line["step"]}
        about |= {"accuracy": state["outcome"]["test"]["accuracy"], "job_seconds": time.monotonic() - began}
        return about | costs | {"load": os.getloadavg()[0]}


def cpu_ms(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return 1e3 * (time.process_time() - started)


def cells() -> Iterator[LocalCell]:
    for parties in PARTIES:
        yield LocalCell("one process", "mlp", parties)
    for parties in PARTIES:
        yield SimulatedCell("simulated", "logistic", parties)
