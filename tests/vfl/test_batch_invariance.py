"""Larger blocks are taken where they give every row the bits of small ones, and nowhere else."""

import numpy as np
import pytest
import torch
from torch import nn

from privee.vfl.batch_invariance import BLOCK, LARGER, batch_invariant, batch_invariant_blocks
from privee.vfl.joint_model import make_bottom

SHAPE = (20,)


@pytest.fixture
def bottom():
    return make_bottom("mlp", "active", SHAPE, 10, 0).eval()


def rows(count):
    return np.random.default_rng(count).random((count, *SHAPE), dtype=np.float32)


@pytest.mark.parametrize("count", [1, BLOCK, 255, 256, 300, 1024, 1025, 2048 + 256 + 31])
def test_many_rows_have_the_bits_of_each_alone(bottom, count):
    def apply(inputs):
        return bottom(inputs[0])

    blocks = batch_invariant_blocks(apply, [SHAPE])
    given = rows(count)
    found = batch_invariant(apply, [given], blocks)
    some = sorted({0, count // 2, count - 1})
    alone = np.concatenate([batch_invariant(apply, [given[place : place + 1]], blocks) for place in some])
    assert found.shape == (count, 64)
    assert found[some].tobytes() == alone.tobytes()


def test_as_few_calls_as_blocks_allow():
    calls = []

    def apply(inputs):
        calls.append(len(inputs[0]))
        return inputs[0] * 2

    found = batch_invariant(apply, [rows(1400)], (1024, 256, 32))
    assert calls == [1024, 256, 32, 32, 32, 32]
    assert np.array_equal(found, rows(1400) * 2)


@pytest.mark.parametrize("most", [BLOCK, LARGER[-1]])
def test_a_size_that_adds_up_in_another_order_is_not_taken(most):
    layer = nn.Linear(*SHAPE, 3)

    def apply(inputs):
        there = inputs[0]
        back = torch.flip(there, (1,)) @ torch.flip(layer.weight, (1,)).T + layer.bias
        return layer(there) if len(there) <= most else back * (1 + 2**-20)

    assert batch_invariant_blocks(apply, [SHAPE]) == tuple(size for size in (*LARGER, BLOCK) if size <= most)
