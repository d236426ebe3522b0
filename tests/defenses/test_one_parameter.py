"""The one-parameter defense: one test per step of the proof in its module, and what a release looks like."""

import itertools
import math

import numpy as np
import pytest

import privee
from privee.defenses import one_parameter
from privee.defenses.one_parameter import GRID, OneParameter, _drawn, _made, _public
from tests._support.scores import softmax_rows

EPSILONS = [0.001, 0.5, 1.0, 4.0, 16.0, 64.0, 1000.0]


def sure_and_even(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Two score vectors with the same ranking, as far apart as can be."""
    sure = np.zeros(classes)
    sure[0] = 1.0
    return sure, np.full(classes, 1 / classes)


def chances(public) -> np.ndarray:
    """Of every draw (columns) from every true value (rows), from the very numbers that are drawn with."""
    first = GRID - np.arange(GRID + 1)[:, None]
    at = first + np.arange(GRID + 1)
    return (public.below[at + 1] - public.below[at]) / public.totals[:, None]


# Step 1: one score.


@pytest.mark.parametrize("epsilon", [0.5, 16.0])
def test_the_loss_of_one_score_is_at_most_twice_the_distance(epsilon):
    public = _public(epsilon, 10)
    logs = np.log(chances(public)[::64])
    for (i, a), (j, b) in itertools.combinations(enumerate(logs), 2):
        assert np.abs(a - b).max() <= 2 * public.step * 64 * (j - i) * (1 + 1e-9)


# Step 2: distance.


@pytest.mark.parametrize("classes", [2, 3, 10, 500])
def test_no_two_vectors_on_the_grid_are_further_apart_than_counted(monkeypatch, classes):
    seen = []
    monkeypatch.setattr(one_parameter, "_drawn", lambda values, public, draws: seen.append(values.copy()) or values)
    rounds = [np.r_[np.full(k, 1 / k), np.zeros(classes - k)] for k in (1, 2, classes // 2 or 1, classes)]
    for scores in (*rounds, *(softmax_rows(50, classes, spread) for spread in (0.01, 1.0, 9.0))):
        OneParameter(4.0).release(scores)
    inputs = np.concatenate(seen)
    assert inputs.sum(axis=1).max() <= GRID
    furthest = max(np.abs(inputs - one).sum(axis=1).max() for one in inputs)
    assert furthest <= 2 * GRID * (1 - 1 / classes)
    assert furthest > 0.9 * 2 * GRID * (1 - 1 / classes) - classes


# Step 3: totals, and the epsilon of a whole vector.


@pytest.mark.parametrize("step", [1e-6, 1e-3, 0.02])
def test_totals_are_concave_and_symmetric(step):
    totals = _made(step).totals.astype(np.int64)
    assert (np.diff(totals, n=2) <= 0).all()
    assert (totals == totals[::-1]).all()


@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_worst_pair_loses_epsilon_and_no_other_more(classes, epsilon):
    """A sure vector against an even one reaches it; 200 other pairs, sure ones among them, do not exceed it."""
    public = _public(epsilon, classes)
    logs = np.log(public.totals.astype(np.float64))
    half = np.log(np.diff(public.below)[GRID:].astype(np.float64))  # of the distances 0..GRID

    def loss(a: np.ndarray, b: np.ndarray) -> float:
        """Largest over draws: a draw at a, or anywhere on its far side from b, tells most."""
        return float((half[0] - half[np.abs(a - b)] + logs[b] - logs[a]).sum())

    sure, even = (np.floor(one * GRID).astype(int) for one in sure_and_even(classes))
    assert loss(sure, even) <= epsilon
    if 1 <= epsilon <= 16:  # else weights stand still where whole numbers end: less is lost than charged
        assert loss(sure, even) > 0.97 * epsilon
    rng = np.random.default_rng(0)
    tried = [rng.dirichlet([c] * classes, 5) for c in (0.02, 0.2, 1.0, 50.0)]
    vectors = [sure, even, *np.floor(-np.sort(-np.concatenate(tried), axis=1) * GRID).astype(int)]
    assert max(loss(a, b) for a in vectors for b in vectors) <= epsilon


def test_composition_alone_would_charge_far_more():
    """K times the epsilon per score against what it is: a factor of six at ten classes, and of 66 at a hundred."""
    for classes, least in ((10, 6), (100, 60)):
        assert OneParameter(8.0).guarantee(classes).figures["epsilon_per_score"] * classes > least * 8.0


# Step 4: what happens afterwards sees draws and the ranking alone.


def test_only_draws_and_the_ranking_decide(monkeypatch):
    monkeypatch.setattr(
        one_parameter, "_drawn", lambda values, public, draws: np.arange(values.size).reshape(values.shape)
    )
    ranked = np.array([[0.7, 0.2, 0.1], [0.34, 0.33, 0.33], [0.5, 0.5, 0.0]])
    release = OneParameter(1.0).release(ranked)
    again = OneParameter(1.0).release(ranked[::-1].copy())
    assert (release == again).all()


def test_all_zero_draws_and_ties_still_give_the_ranking(monkeypatch):
    monkeypatch.setattr(one_parameter, "_drawn", lambda values, public, draws: np.zeros_like(values))
    for dtype in (np.float32, np.float64):
        scores = softmax_rows(30, 6).astype(dtype)
        release = OneParameter(1.0).release(scores)
        assert privee.theory.order_is_kept(scores, release)
        assert np.allclose(release.sum(axis=1), 1, atol=1e-5)
        tied, clear = (OneParameter(1.0).release(np.array(s, dtype=dtype)) for s in ([0.5, 0.5, 0.0], [0.6, 0.3, 0.1]))
        assert (tied == clear).all(), "not even a tie shows"


# The sampler, and an attempt to tell apart.


def test_draws_follow_the_weights():
    """Kolmogorov distance of 200,000 draws from the exact distribution function; 2.6 is passed in one of a million."""
    public = _public(16.0, 10)
    for value in (0, 400, GRID // 2, GRID):
        drawn = _drawn(np.full((1, 200_000), value), public, privee.seeded(value))
        counted = np.bincount(drawn[0], minlength=GRID + 1).cumsum() / 200_000
        exact = chances(public)[value].cumsum()
        assert np.abs(counted - exact).max() * math.sqrt(200_000) < 2.6


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_distinguisher_finds_no_more_than_epsilon_and_something_of_it(monkeypatch, epsilon):
    """How often two classes' draws are far apart, 300,000 releases of each; three standard errors, fixed seeds."""
    seen = []
    real = one_parameter._drawn
    monkeypatch.setattr(one_parameter, "_drawn", lambda *given: seen.append(real(*given)) or seen[-1])
    found = []
    for k, scores in enumerate(sure_and_even(2)):
        OneParameter(epsilon).release(np.tile(scores, (300_000, 1)), draws=privee.seeded(k))
        low_high = np.concatenate(seen)  # ascending scores: the lower one first
        found.append(((low_high[:, 0] < GRID * 0.15) & (low_high[:, 1] > GRID * 0.85)).mean())
        seen.clear()
    error = 3 * math.sqrt(sum(1 / (300_000 * p) for p in found))
    assert 0.5 * epsilon < math.log(found[0] / found[1]) < epsilon + error


def test_epsilon_moves_scores_less_and_less_and_towards_zero_not_at_all():
    scores = softmax_rows(500, 10)
    moved = [np.abs(OneParameter(e).release(scores) - scores).sum(axis=1).mean() for e in (1.0, 16.0, 64.0, 1000.0)]
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] < 0.05


@pytest.mark.parametrize("epsilon", [0, -1, 1e-4, float("nan"), "1", True])
def test_bad_epsilons_are_refused(epsilon):
    with pytest.raises(privee.SettingError, match="epsilon must be"):
        OneParameter(epsilon)
