"""How many threads a training takes: one where the model is small.

Threads that share a few thousand products wait for each other longer than they work, and beside other work on the
machine every step waits for the slowest of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from privee.errors import SettingError
from privee.vfl.joint_model import JointModel

LARGE_STEP = 1 << 28
"""Parameters times rows of a batch from which on a step is shared among threads."""


def threads_for(joint: JointModel, batch_size: int) -> int:
    """One, or torch's own number for convolutions and for large steps."""
    models = [learner.model for learner in joint.learners.values()]
    if any(isinstance(module, nn.Conv2d) for model in models for module in model.modules()):
        return torch.get_num_threads()
    size = sum(parameter.numel() for model in models for parameter in model.parameters())
    return torch.get_num_threads() if size * batch_size >= LARGE_STEP else 1


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use so many threads inside the block."""
    if count < 1:
        raise SettingError(f"threads must be a whole number from 1 on, got {count!r}")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
