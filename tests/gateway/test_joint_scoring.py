"""Scores worked out together are those of each request alone, to the last bit; whose do not fit fails alone."""

import asyncio

import numpy as np
import pytest

from privee.errors import PriveeError
from privee.gateway.coordinator_model import CoordinatorModel, load_coordinator_model
from privee.gateway.demo import World
from privee.gateway.joint_scoring import FEW, JointScoring


@pytest.fixture(scope="module")
def model(folder):
    return load_coordinator_model(World(folder).run)


def embeddings(model, rows, seed):
    draws = np.random.default_rng(seed)
    return {party: draws.normal(size=(rows, 10)).astype(np.float32) for party in model.parties}


def together(model, asked):
    async def work():
        scoring = JointScoring(model)
        return await asyncio.gather(*(scoring.scores(one) for one in asked), return_exceptions=True)

    return asyncio.run(work())


def test_the_same_bits_in_one_pass(model, monkeypatch):
    asked = [embeddings(model, rows, seed) for seed, rows in enumerate((1, 1, 3, FEW, 2, FEW + 1))]
    alone, passes, scores = [model.scores(one) for one in asked], [], CoordinatorModel.scores

    def counted(self, given):
        passes.append(len(given[self.parties[0]]))
        return scores(self, given)

    monkeypatch.setattr(CoordinatorModel, "scores", counted)
    found = together(model, asked)
    assert all(np.array_equal(one, other) for one, other in zip(found, alone, strict=True))
    assert sorted(passes) == sorted([FEW + 1, 1 + 1 + 3 + FEW + 2])


def test_embeddings_that_do_not_fit_fail_alone(model):
    narrow = embeddings(model, 1, 2)
    asked = [embeddings(model, 1, 1), narrow | {"passive-1": narrow["passive-1"][:, :7]}, embeddings(model, 2, 3)]
    first, wrong, last = together(model, asked)
    assert isinstance(wrong, PriveeError)
    assert np.array_equal(first, model.scores(asked[0]))
    assert np.array_equal(last, model.scores(asked[2]))


def test_who_stopped_waiting_keeps_nobody_waiting(model):
    async def work():
        scoring, given = JointScoring(model), embeddings(model, 1, 5)
        gone = asyncio.ensure_future(scoring.scores(given))
        other = asyncio.ensure_future(scoring.scores(given))
        await asyncio.sleep(0)
        gone.cancel()
        return await other

    assert asyncio.run(work()).shape[0] == 1
