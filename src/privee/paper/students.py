"""Students: small networks that learn from score vectors what a larger model knows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from privee.audit.threads import one_thread
from privee.vfl.seeds import batches, build

HIDDEN = 64
STEPS = 500
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
    with one_thread():
        for rows in _batches(len(inputs), seed):
            loss = -(wanted[rows] * student(inputs[rows])).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return student.eval()


def student_accuracy(student: nn.Module, columns: Features, labels: NDArray[np.int64]) -> float:
    """Percent of rows whose leading class is the true one."""
    with torch.inference_mode():
        found = student(torch.from_numpy(columns)).argmax(dim=1).numpy()
    return 100.0 * float((found == labels).mean())


def _batches(count: int, seed: int) -> Iterator[Tensor]:
    """As many batches as there are steps, epoch after epoch."""
    epochs = (batches(torch.arange(count), BATCH, seed, epoch) for epoch in itertools.count())
    return itertools.islice(itertools.chain.from_iterable(epochs), STEPS)
