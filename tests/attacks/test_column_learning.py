"""Attacks that learn each column by itself: with a learner that suits it, from what the threat model grants."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from privee.attacks import attack as make_attack
from privee.attacks.boosted_trees import Trees, by_probability, codes_of, learn_by_trees
from privee.attacks.column_learning import MOST_COLUMNS, told_best
from privee.attacks.logistic_regression import learn_linearly
from privee.audit import subject_from_arrays
from privee.audit.task import simulated
from privee.data.columns import SourceColumn
from privee.defenses import defense
from privee.errors import PriveeError
from tests._support.telling_table import telling_subject

ATTACKS = ["boosted-trees", "logistic-regression"]


@pytest.fixture(scope="module")
def sample():
    return telling_subject(900).sample(0, 400, 450)


def attacked(sample, spec, release="none", **more):
    view = sample.view(simulated(sample, defense(release), 0, 1), defense(release), adaptive=True)
    return make_attack(spec, **more).run(view, seed=3).unknown.numpy()


@pytest.mark.parametrize("spec", ATTACKS)
@pytest.mark.parametrize("own_columns", [True, False])
def test_a_rare_category_is_told_from_the_scores(sample, spec, own_columns):
    told = attacked(sample, spec, own_columns=own_columns)
    holds = sample.truth[:, 0].numpy() > 0.5
    assert roc_auc_score(holds, told[:, 0]) > (0.95 if own_columns else 0.85)
    assert ((told >= 0) & (told <= 1)).all()
    np.testing.assert_allclose(told[:, :3].sum(axis=1), 1, atol=1e-6)  # probabilities of a category's values


def test_columns_that_own_ones_say_nothing_about_are_told_as_well_as_can_be():
    """The guess that a linear model is given must not hide the examples' own answers: it would learn to read them."""
    rng = np.random.default_rng(0)
    own, private, weights = rng.random((800, 4)), rng.random((800, 8)), torch.from_numpy(rng.normal(size=(12, 8)) * 2)
    subject = subject_from_arrays(lambda a, p: torch.cat([a, p], dim=1) @ weights, own, private, outputs="logits")
    some = subject.sample(0, 200, 500)
    truth = some.truth.numpy()
    by_column, together = (
        np.square(attacked(some, spec, "ranking-only") - truth).mean()
        for spec in ("logistic-regression", "learned-inversion")
    )
    assert by_column < 1.1 * together


@pytest.mark.parametrize("spec", ATTACKS)
def test_the_same_seed_gives_the_same_estimates(sample, spec):
    assert np.array_equal(attacked(sample, spec), attacked(sample, spec))


def test_without_auxiliary_rows_they_are_left_out(sample):
    bare = dataclasses.replace(sample, auxiliary=None)
    view = bare.view(simulated(bare, defense("none"), 0, 1), defense("none"), adaptive=True)
    assert [make_attack(spec).why_not(view) for spec in ATTACKS] == ["needs auxiliary rows"] * 2


@pytest.mark.parametrize("learn", [learn_by_trees, learn_linearly])
def test_learners_suit_the_column(learn):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    number = (1 / (1 + np.exp(-2 * x[:, 0])))[:, None]
    assert np.corrcoef(learn(x[:400], number[:400], x[400:], 0)[:, 0], number[400:, 0])[0, 1] > 0.95
    flag = (x[:, 1] > 0.5).astype(float)[:, None]
    assert roc_auc_score(flag[400:, 0], learn(x[:400], flag[:400], x[400:], 0)[:, 0]) > 0.95
    category = np.eye(3)[np.digitize(x[:, 2], [-0.5, 0.5])]
    told = learn(x[:400], category[:400], x[400:], 0)
    assert (told.argmax(axis=1) == category[400:].argmax(axis=1)).mean() > 0.9


@pytest.mark.parametrize("rows", [300, 2400])
def test_inputs_that_are_binned_once_give_what_those_binned_anew_do(rows):
    """Of numbers and categories in turn, and of other inputs in between; with and without examples kept aside."""
    rng = np.random.default_rng(0)
    inputs, other, new = rng.random((rows, 5)), rng.random((rows, 4)), rng.random((50, 5))
    kind = (3 * inputs[:, 0] + rng.random(rows)).astype(int)
    outputs = [inputs[:, [k]] ** 2 + 0.1 * rng.random((rows, 1)) for k in range(2)]
    outputs[1:1] = [np.eye(4)[kind], (inputs[:, [1]] > 0.5).astype(float)]
    trees = Trees()
    for seed, wanted in enumerate(outputs):
        trees(other, wanted, new[:, :4], seed) if seed == 2 else None
        np.testing.assert_array_equal(trees(inputs, wanted, new, seed), learn_by_trees(inputs, wanted, new, seed))


def test_values_too_rare_to_learn_do_no_harm():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    outputs = np.eye(4)[rng.integers(0, 2, 100)]
    outputs[0], outputs[1] = [0, 0, 1, 0], [0, 0, 0, 0]  # one of a kind, and a value that no feature stands for
    told = learn_by_trees(x, outputs, x, 0)
    assert told.shape == (100, 4)
    assert np.isfinite(told).all()
    alone = np.eye(3)[rng.integers(0, 2, 2500)]  # as many as let some be kept to see when to stop
    alone[0] = [0, 0, 1]
    x_many = rng.normal(size=(2500, 2))
    assert np.isfinite(learn_by_trees(x_many, alone, x, 0)).all()
    once = np.zeros((100, 1))
    once[0] = 1
    assert np.array_equal(learn_linearly(x, once, x, 0), np.full((100, 1), 0.01))
    assert codes_of(outputs)[:2].tolist() == [2, 4]
    assert by_probability(None, x, np.ones((100, 2)) / 2, x[:3]).tolist() == [[0.5, 0.5]] * 3  # the same for all


def test_of_many_columns_sensitive_ones_are_always_learned():
    outputs = np.random.default_rng(0).random((50, 40))
    columns = [SourceColumn(name=str(k), party="p", kind="number", places=(k,), sensitive=k == 39) for k in range(40)]
    told = outputs.copy()
    told[:, 5:] = outputs[:, 5:].mean(axis=0)
    told[:, 39] = 1 - outputs[:, 39]
    chosen = [column.name for column in told_best(columns, outputs, told)]
    assert len(chosen) == MOST_COLUMNS
    assert chosen[0] == "39"
    assert set(chosen[1:6]) == {"0", "1", "2", "3", "4"}


def test_wide_tables_and_many_columns_are_learned_in_the_time_of_few(monkeypatch):
    """100 own and 40 unknown columns: directions stand for own columns, one regression for most unknown ones."""
    from privee.attacks import boosted_trees

    rng = np.random.default_rng(1)
    own, private = rng.random((260, 100)), rng.random((260, 40))
    weights = rng.normal(size=(140, 3)) / 5

    def model(a, p):
        return torch.softmax(torch.as_tensor(np.hstack([a, p]) @ weights), dim=1).numpy()

    calls = []
    monkeypatch.setattr(
        boosted_trees.Trees, "__call__", lambda self, x, y, new, seed: calls.append(x.shape) or new[:, :1] * 0
    )
    sample = subject_from_arrays(model, own, private).sample(0, 100, 150)
    told = attacked(sample, "boosted-trees")
    assert told.shape == (100, 40)
    assert len(calls) == MOST_COLUMNS
    assert calls[0][1] < 60


def test_a_library_that_does_not_load_is_named_with_what_it_needs(monkeypatch):
    def broken(module):
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr("privee.extras.import_module", broken)
    with pytest.raises(PriveeError, match=r"^LightGBM does not load: it needs OpenMP .*libgomp1.*$"):
        learn_by_trees(np.zeros((30, 1)), np.arange(30.0)[:, None], np.zeros((1, 1)), 0)
