"""What the roles cost: a joint training step against the same network trained as one plain PyTorch module.

    python benchmarks/vfl_step.py       prints the table and stores benchmarks/results/vfl_step.json

Both take turns in one run. The plain loop uses torch's default Adam, as one would write it; beside it the same loop
with the fused Adam that the roles use. Bars: two parties (the paper's MNIST model) at most 1.25 times plain, and 25
parties no worse than linear in the number of parties.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from privee.vfl import JointModel, make_models

RESULTS = Path(__file__).parent / "results" / "vfl_step.json"
ROWS, CLASSES = 20_000, 10
Step = Callable[[Tensor], object]


def plain_step(joint: JointModel, *, fused: bool) -> Step:
    bottoms = [party.learner.model.train() for party in joint.parties]
    top = joint.coordinator.learner.model.train()
    features, labels = [party._features for party in joint.parties], joint.parties[0]._labels
    optimizer = torch.optim.Adam(nn.ModuleList([*bottoms, top]).parameters(), lr=1e-4, fused=fused or None)

    def step(rows: Tensor) -> None:
        optimizer.zero_grad()
        logits = top([bottom(x[rows]) for bottom, x in zip(bottoms, features, strict=True)])
        nn.functional.cross_entropy(logits, labels[rows]).backward()
        optimizer.step()

    return step


def joint_step(joint: JointModel) -> Step:
    for learner in joint.learners.values():
        learner.start(1e-4)
    state = {"gradients": dict.fromkeys(joint.coordinator.parties)}
    joint.coordinator.learner.mode(train=True)

    def step(rows: Tensor) -> None:
        state["gradients"] = joint.coordinator._train_batch(rows, state["gradients"])

    return step


def make(kind: str, parties: int, width: int) -> JointModel:
    shapes = {f"p{k}": (width // parties,) for k in range(parties)}
    columns = {name: torch.rand(ROWS, *shape).numpy() for name, shape in shapes.items()}
    labels = torch.randint(CLASSES, (ROWS,)).numpy()
    return JointModel(columns, labels, *make_models(kind, shapes, CLASSES, 0))


def measure(kind: str, parties: int, width: int, batch: int, rounds: int = 15) -> dict[str, object]:
    steps = {
        "plain": plain_step(make(kind, parties, width), fused=False),
        "plain_fused": plain_step(make(kind, parties, width), fused=True),
        "joint": joint_step(make(kind, parties, width)),
    }
    rows = [torch.randint(ROWS, (batch,)) for _ in range(max(10, 120 // parties))]
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            for chosen in rows:
                step(chosen)
            times[name].append((time.perf_counter() - start) / len(rows))

    def ratio(base: str) -> float:
        return statistics.median(a / b for a, b in zip(times["joint"], times[base], strict=True))

    return {
        "model": kind,
        "parties": parties,
        "columns": width,
        "batch": batch,
        "ms": {name: 1e3 * statistics.median(found) for name, found in times.items()},
        "ratio": ratio("plain"),
        "ratio_fused": ratio("plain_fused"),
    }


def main() -> None:
    torch.set_num_threads(1)
    cases = [("mlp", 2, 784, 128), ("mlp", 2, 784, 1024), ("mlp", 2, 48, 128), ("logistic", 2, 784, 128)]
    cases += [("mlp", parties, 784, 128) for parties in (5, 10, 25)]
    results = [measure(*case) for case in cases]
    table = Table("model", "parties", "columns", "batch", "joint, ms", "plain, ms", "ratio", "ratio to plain, fused")
    for row in results:
        cells = [row["model"], row["parties"], row["columns"], row["batch"]]
        times = [f"{row['ms'][name]:.2f}" for name in ("joint", "plain")]
        table.add_row(*map(str, cells), *times, f"{row['ratio']:.2f}", f"{row['ratio_fused']:.2f}")
    Console(width=110).print(table)
    two, many = results[0], results[-1]
    growth = many["ms"]["joint"] / two["ms"]["joint"] / (25 / 2)
    print(f"25 parties cost {growth:.2f} times what linear growth from two would give")
    RESULTS.write_text(json.dumps({"steps": results, "growth_over_linear": growth}, indent=1) + "\n")


if __name__ == "__main__":
    main()
