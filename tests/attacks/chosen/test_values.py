"""Columns that have few values are told by them, not by a Gaussian."""

import numpy as np
import pytest
import torch

from privee.attacks import ChosenColumns
from privee.attacks.chosen.rehearsal import ROWS
from privee.attacks.chosen.values import Values
from privee.attacks.metrics import feature_mse
from privee.audit import subject_from_arrays
from privee.audit.task import simulated
from privee.defenses import defense


@pytest.fixture(scope="module")
def sample():
    """A logistic model of four classes over categories with 3 and 4 values and a rare yes/no column."""
    rng = np.random.default_rng(0)
    kinds = [np.eye(count)[rng.integers(0, count, 700)] for count in (3, 4)]
    own, private = rng.random((700, 5)), np.hstack([*kinds, rng.random((700, 1)) < 0.1])
    weights = torch.from_numpy(rng.normal(size=(13, 4)) * 2)
    subject = subject_from_arrays(lambda a, p: torch.cat([a, p], dim=1) @ weights, own, private, outputs="logits")
    return subject.sample(0, 50, 500)


def left_after_each(sample, spec: str) -> list[float]:
    made = defense(spec)
    view = sample.view(simulated(sample, made, 0, 1), made, adaptive=True, oracle=sample.oracle(made, 0))
    found = ChosenColumns(questions=5).after_each(view)
    assert ((found >= 0) & (found <= 1)).all()
    errors = [feature_mse(one, sample.truth) for one in found]
    return [error / errors[0] for error in errors]


@pytest.mark.parametrize("spec", ["none", "ranking-only", "ordered-dp:epsilon=4"])
def test_five_orders_tell_every_category(sample, spec):
    """Three logits of eight columns leave the Gaussian with half of the error, however often it asks."""
    assert left_after_each(sample, spec)[5] < 0.1


def test_answers_that_say_nothing_change_nothing(sample):
    assert max(left_after_each(sample, "gaussian:epsilon=0.05")) < 1.05


def test_values_are_taken_of_columns_where_they_are_nearer(sample):
    made = defense("none")
    values = Values(sample.view(simulated(sample, made, 0, 1), made, adaptive=True), torch.zeros_like(sample.truth))
    nearest = sample.auxiliary.unknown.mean(dim=0)
    values._likely = [torch.zeros(len(sample.truth), len(sample.auxiliary), dtype=torch.float64)]
    worse, right = torch.full_like(sample.truth, 0.9), sample.truth.clone()
    found = values.where_better(torch.cat([worse[:, :4], right[:, 4:]], dim=1), sample.truth[-ROWS:])
    torch.testing.assert_close(found[:, :4], nearest[:4].expand_as(found[:, :4]))
    assert torch.equal(found[:, 4:], right[:, 4:])
