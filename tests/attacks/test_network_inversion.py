"""A network that learned from made-up rows tells what regressions of the few known ones do not."""

import dataclasses

import numpy as np
import pytest
import torch

import privee
from privee.attacks import LearnedInversion, NetworkInversion
from privee.attacks import attack as make_attack
from privee.attacks.made_up_rows import Guessed, made_up, scores_of
from privee.attacks.metrics import feature_mse, regression_guess
from privee.attacks.network_inversion import _beyond_chance, _share
from privee.attacks.watch import Watch
from privee.audit import subject_from_arrays
from privee.audit.task import simulated
from privee.defenses import defense
from tests._support.telling_table import telling_subject

OTHERS = ("learned-inversion", "prior-informed", "boosted-trees", "logistic-regression")


def bending_subject(rows: int = 900):
    """Six classes of a small network; three private columns are numbers, one is rare."""
    rng = np.random.default_rng(0)
    own, private = rng.random((rows, 4)), rng.random((rows, 4))
    private[:, 3] = rng.random(rows) < 0.05
    private[:, 0] = (private[:, 0] + own[:, 0]) / 2
    first, last = (torch.from_numpy(rng.normal(size=shape)) for shape in ((8, 16), (16, 6)))

    def model(active, passive):
        return torch.tanh(2 * (torch.cat([active, passive], dim=1) - 0.5) @ first) @ last

    return subject_from_arrays(model, own, private, outputs="logits")


@pytest.fixture(scope="module")
def sample():
    return bending_subject().sample(0, 250, 500)


def viewed(sample, spec="none", *, adaptive=True, queries=1):
    made = defense(spec)
    return sample.view(simulated(sample, made, 0, queries), made, adaptive=adaptive)


def share_left(view, truth, attack) -> float:
    found = attack.run(view).unknown
    assert ((found >= 0) & (found <= 1)).all()
    return feature_mse(found, truth) / feature_mse(regression_guess(view), truth)


@pytest.mark.parametrize("spec", ["ranking-only", "ordered-dp:epsilon=4", "rounding:digits=2"])
def test_models_that_bend_give_more_away_than_few_rows_show(sample, spec):
    view = viewed(sample, spec)
    network, *others = (share_left(view, sample.truth, a) for a in (NetworkInversion(), *map(make_attack, OTHERS)))
    assert network < 0.9 * min(others)


def test_a_slow_defense_is_simulated_for_fewer_rows(sample, monkeypatch):
    """MemGuard takes milliseconds for a vector: thousands of them would take minutes."""
    made = type(defense("memguard"))
    assert made.slow
    viewed(sample, "memguard").target  # noqa: B018 (its inverse makes a public bank once, which is none of these rows)
    simulated_rows = []
    monkeypatch.setattr(made, "release", lambda self, scores, draws=None: simulated_rows.append(len(scores)) or scores)
    view = viewed(sample, "memguard")
    simulated_rows.clear()
    NetworkInversion(epochs=1).run(view)
    assert 0 < sum(simulated_rows) <= 6000 // 10 + len(sample.auxiliary) + 4 * len(sample.auxiliary) // 5


def test_a_line_stays_a_line():
    """Of exact scores of a logistic model, as much is told as by the regression that suits it."""
    rng = np.random.default_rng(1)
    own, private, weights = rng.random((800, 4)), rng.random((800, 12)), torch.from_numpy(rng.normal(size=(16, 6)))
    subject = subject_from_arrays(lambda a, p: torch.cat([a, p], dim=1) @ weights, own, private, outputs="logits")
    some = subject.sample(0, 200, 500)
    network, learned = (share_left(viewed(some), some.truth, a) for a in (NetworkInversion(), LearnedInversion()))
    assert network < 1.06 * learned


def test_a_release_that_says_nothing_costs_nothing():
    """A mean over four tables whose model looks at own columns alone; and of a release that is noise."""
    left = []
    for seed in range(4):
        some = telling_subject(800, seed, ignores=True).sample(seed, 200, 500)
        left += [
            share_left(viewed(some, spec), some.truth, NetworkInversion()) for spec in ("none", "gaussian:epsilon=0.5")
        ]
    assert max(left) < 1.04
    assert np.mean(left) < 1.015


def test_of_few_rows_no_more_is_made_than_they_show():
    """A mean over twelve times 10 to 20 rows, whose few kept out say by chance how far to believe each column."""
    subject, left = bending_subject(), []
    for seed in range(4):
        left += [
            share_left(viewed(some, "ranking-only"), some.truth, NetworkInversion(made_up=1500))
            for some in (subject.sample(seed, 100, rows) for rows in (10, 15, 20))
        ]
    assert max(left) < 1.2
    assert np.mean(left) < 1.045


def test_few_rows_are_enough_where_much_is_told():
    some = bending_subject().sample(0, 100, 40)
    assert share_left(viewed(some), some.truth, NetworkInversion()) < 0.8


def test_what_is_believed_of_a_column_by_few_rows_is_much_like_all():
    moved, wanted = torch.ones(5, 2), torch.tensor([[0.9, -0.1]]).expand(5, 2)
    few, many = _share(moved, wanted, 5), _share(moved, wanted, 1000)
    torch.testing.assert_close(few, torch.tensor([0.5, 0.3]))
    torch.testing.assert_close(many, torch.tensor([0.9, 0.0]), atol=0.01, rtol=0)


def test_a_gain_counts_beyond_chance():
    assert _beyond_chance(torch.tensor([1.0, 1.1]))
    assert not _beyond_chance(torch.tensor([1.0, 0.3]))  # 0.65, and a standard error of 0.35
    assert _beyond_chance(torch.tensor([1.0, 0.3]).repeat(10))
    assert not _beyond_chance(torch.tensor([-1.0, -1.1]))


def test_knowing_the_defense_is_what_helps(sample):
    naive, knowing = (
        share_left(viewed(sample, "privee-u:rho=0.1", adaptive=adaptive), sample.truth, NetworkInversion())
        for adaptive in (False, True)
    )
    assert knowing < 0.8 * naive


def test_more_queries_help(sample):
    one, many = (
        share_left(viewed(sample, "ordered-dp:epsilon=4", queries=n), sample.truth, NetworkInversion()) for n in (1, 30)
    )
    assert many < one


def test_seeds_repeat_and_progress_is_told(sample):
    view, told = viewed(sample, "ranking-only"), []
    some = NetworkInversion(made_up=500, epochs=2)
    first = some.run(view, seed=3, watch=Watch(lambda done, total: told.append((done, total)))).unknown
    assert torch.equal(first, some.run(view, seed=3).unknown)
    assert not torch.equal(first, some.run(view, seed=4).unknown)
    assert told[-1][0] == told[-1][1] == len(told)


def test_what_it_needs_is_said(sample):
    few = dataclasses.replace(sample.auxiliary, own=sample.auxiliary.own[:9], unknown=sample.auxiliary.unknown[:9])
    reasons = [NetworkInversion().why_not(viewed(dataclasses.replace(sample, auxiliary=rows))) for rows in (None, few)]
    assert reasons == ["needs auxiliary rows", "needs 10 auxiliary rows or more"]
    with pytest.raises(privee.SettingError, match="made_up"):
        NetworkInversion(made_up=0)


def test_made_up_rows_are_like_those_there_are(sample):
    """Own columns as they are, unknown ones in [0, 1] and of the same spread; a yes/no column is mostly yes or no."""
    rows = sample.auxiliary
    known = Guessed(rows, rows.unknown.mean(dim=0).expand_as(rows.unknown))
    torch.manual_seed(0)
    found = made_up(sample.model, known, 4000).rows
    assert torch.equal(found.own[: len(rows)], rows.own)
    assert ((found.unknown >= 0) & (found.unknown <= 1)).all()
    torch.testing.assert_close(found.unknown.mean(dim=0), rows.unknown.mean(dim=0), atol=0.02, rtol=0)
    torch.testing.assert_close(found.unknown.std(dim=0), rows.unknown.std(dim=0), atol=0.03, rtol=0)
    assert float(((found.unknown[:, 3] < 0.1) | (found.unknown[:, 3] > 0.9)).double().mean()) > 0.95


def test_a_model_is_asked_about_made_up_rows_once(sample):
    rows, asked = sample.auxiliary, []

    class Counting:
        def __getattr__(self, name):
            return getattr(sample.model, name)

        def scores(self, *columns):
            asked.append(len(columns[0]))
            return sample.model.scores(*columns)

    said = sample.model.scores(rows.own, rows.unknown)
    some, other = rows.part(slice(100)), rows.part(slice(100, 150))
    for part in (some, other, some, other):
        torch.testing.assert_close(scores_of(Counting(), part, said), said[:100] if part is some else said[100:150])
    assert asked == [100, 50]
