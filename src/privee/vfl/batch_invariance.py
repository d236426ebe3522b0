"""The same result for a row, bit by bit, whatever other rows it is computed with.

A matrix product of one row and one of many rows are added up in different orders, so their last bits differ. Draws
that are keyed by the scores would then be fresh draws for the same query. So models are applied to blocks of one
fixed size, the last of them filled up with zeros: every row then takes the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BLOCK = 32

Apply = Callable[[list[Tensor]], Tensor]


def batch_invariant(apply: Apply, inputs: Sequence[NDArray[np.float32]], block: int = BLOCK) -> NDArray[Any]:
    """Apply a model to rows, block by block.

    Args:
        apply: From a list of tensors, one per input, to one row of output per row; it must treat rows one by one.
        inputs: Arrays with the same number of rows.
        block: Rows per block.
    """
    count = len(inputs[0])
    padded = [_filled_up(values, block) for values in inputs]
    with torch.inference_mode():
        parts = [apply([values[start : start + block] for values in padded]) for start in range(0, count, block)]
        return torch.cat(parts)[:count].numpy()


def batch_invariant_block(apply: Apply, shapes: Sequence[Sequence[int]], block: int = BLOCK) -> int:
    """`block` if a row's place in a block of this size makes no difference on this machine, else 1."""
    generator = torch.Generator().manual_seed(0)
    row = [torch.rand(1, *shape, generator=generator) for shape in shapes]
    with torch.inference_mode():
        seen = set()
        for place in range(block):
            filled = [torch.rand(block, *shape, generator=generator) for shape in shapes]
            for values, mine in zip(filled, row, strict=True):
                values[place] = mine[0]
            seen.add(apply(filled)[place].numpy().tobytes())
    return block if len(seen) == 1 else 1


def _filled_up(values: NDArray[np.float32], block: int) -> Tensor:
    """As a tensor of its own, which torch aligns, with a whole number of blocks."""
    count = len(values)
    padded = torch.zeros((-(-count // block) * block, *values.shape[1:]), dtype=torch.float32)
    padded.numpy()[:count] = values
    return padded
