"""The same result for a row, bit by bit, whatever other rows it is computed with.

A matrix product of one row and one of many rows are added up in different orders, so their last bits differ. Draws
that are keyed by the scores would then be fresh draws for the same query. So models are applied to blocks of one
fixed size, the last of them filled up with zeros: every row then takes the same steps.

Many rows go in larger blocks, where those are found to give every row the same bits: each call of a model costs about
as much as the rows of a small block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BLOCK = 32
LARGER = (1024, 256)

Apply = Callable[[list[Tensor]], Tensor]
Blocks = tuple[int, ...]
"""Sizes of blocks that give a row the same bits, the largest first; what is left goes into the last."""


def batch_invariant(apply: Apply, inputs: Sequence[NDArray[np.float32]], blocks: Blocks = (BLOCK,)) -> NDArray[Any]:
    """Apply a model to rows, block by block.

    Args:
        apply: From a list of tensors, one per input, to one row of output per row; it must treat rows one by one.
        inputs: Arrays with the same number of rows.
        blocks: Rows per block.
    """
    count = len(inputs[0])
    padded = [_filled_up(values, blocks[-1]) for values in inputs]
    with torch.inference_mode():
        parts = [apply([values[start:end] for values in padded]) for start, end in _spans(len(padded[0]), blocks)]
        return (parts[0] if len(parts) == 1 else torch.cat(parts))[:count].numpy()


def batch_invariant_blocks(apply: Apply, shapes: Sequence[Sequence[int]], block: int = BLOCK) -> Blocks:
    """Sizes of blocks in which neither company nor place nor size makes a difference to a row on this machine.

    That is seen on random rows. How products are added up depends on their sizes and not on numbers, so one row would
    show it, and all of the rows of a block are compared.
    """
    smallest = _smallest(apply, shapes, block)
    return (*(size for size in LARGER if smallest == block and _same_in(size, apply, shapes, block)), smallest)


def _same_in(size: int, apply: Apply, shapes: Sequence[Sequence[int]], block: int) -> bool:
    generator = np.random.default_rng(0)
    rows = [generator.random((size, *shape), dtype=np.float32) for shape in shapes]
    small, large = (batch_invariant(apply, rows, (one,)) for one in (block, size))
    return small.tobytes() == large.tobytes()


def _spans(count: int, blocks: Blocks) -> Iterator[tuple[int, int]]:
    """Where each block starts and ends; `count` is a whole number of the last of them."""
    start = 0
    for block in blocks:
        while start + block <= count:
            yield start, start + block
            start += block


def _smallest(apply: Apply, shapes: Sequence[Sequence[int]], block: int) -> int:
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
