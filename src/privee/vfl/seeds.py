"""Seeds: the same numbers for Python, NumPy and torch, and streams of their own for each role and epoch."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch, and make a GPU deterministic; the CPU operations used here are anyway."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    if torch.cuda.is_available():  # this call imports torch's compiler, which takes seconds
        torch.use_deterministic_algorithms(True, warn_only=True)


def derived(seed: int, *path: int | str) -> int:
    """A 63-bit seed for one purpose, independent of those for others."""
    return int.from_bytes(hashlib.sha256(repr((seed, *path)).encode()).digest()[:8], "big") >> 1


@contextmanager
def torch_seed(seed: int) -> Iterator[None]:
    """Seed torch inside the block only."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def build(seed: int, role: str, make: Callable[[], nn.Module]) -> nn.Module:
    """Make a role's model with weights that depend on the seed and the role alone, wherever it is made."""
    with torch_seed(derived(seed, "weights", role)):
        return make()


def batches(rows: Tensor, batch_size: int, seed: int, epoch: int) -> tuple[Tensor, ...]:
    """This epoch's batches of row numbers; every party could compute them, and a resumed run gets the same."""
    generator = torch.Generator().manual_seed(derived(seed, "batches", epoch))
    return rows[torch.randperm(len(rows), generator=generator)].split(batch_size)
