"""Students: small networks that learn from score vectors what a larger model knows."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from privee.vfl.seeds import batches, build

HIDDEN = 64
STEPS = 1_000
BATCH = 128
LEARNING_RATE = 3e-3

Features = NDArray[np.float32]


def distil(columns: Features, targets: NDArray[np.float64], seed: int) -> nn.Module:
    """One hidden layer, trained to give the target vectors (rows sum to one) by cross entropy."""
    inputs, wanted = torch.from_numpy(columns), torch.from_numpy(targets.astype(np.float32))
    student = build(
        seed,
        "student",
        lambda: nn.Sequential(
            nn.Linear(inputs.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, wanted.shape[1]), nn.LogSoftmax(dim=1)
        ),
    )
    optimizer = torch.optim.Adam(student.parameters(), lr=LEARNING_RATE, fused=True)
    rows, step, epoch = torch.arange(len(inputs)), 0, 0
    while step < STEPS:
        for some in batches(rows, BATCH, seed, epoch)[: STEPS - step]:
            loss = -(wanted[some] * student(inputs[some])).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        epoch += 1
    return student.eval()


def student_accuracy(student: nn.Module, columns: Features, labels: NDArray[np.int64]) -> float:
    """Percent of rows whose leading class is the true one."""
    with torch.inference_mode():
        found = student(torch.from_numpy(columns)).argmax(dim=1).numpy()
    return 100.0 * float((found == labels).mean())
