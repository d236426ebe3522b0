"""One test per statement of the paper's appendix A; statistical ones state their error rate."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import privee
from privee import theory
from tests._support.scores import softmax_rows

U = privee.PriveeU(rho=0.3)
PLUS = privee.PriveeUPlus(rho_low=0.1, rho_high=0.6)
BOTH = pytest.mark.parametrize("defense", [U, privee.PriveeU(rho=0.1, draw_range=3.0), PLUS], ids=lambda d: d.spec)
SCORES = np.array([0.05, 0.5, 0.15, 0.3])
CHANCE = 1e-6


def perturbed_matrix(classes: int, strength: float, transform: str, seed: int) -> np.ndarray:
    """A_pert, explicitly; the theory never needs it."""
    u = np.sort(np.random.default_rng(seed).random(classes)) if seed else np.ones(classes)
    matrix = np.eye(classes) - (2 / classes if transform == "householder" else 0)
    return matrix + np.diag(u * strength)


transforms = st.sampled_from(["householder", "identity"])


@given(st.integers(2, 50), transforms, st.integers(0, 99))
def test_lemma_1_distances_and_correlations_are_kept(classes, transform, seed):
    x, y = softmax_rows(2, classes, seed=seed)
    tx, ty = theory.apply_transform(np.stack([x, y]), transform)
    assert np.linalg.norm(tx - ty) == pytest.approx(np.linalg.norm(x - y))
    assert tx @ ty == pytest.approx(x @ y)
    assert theory.apply_transform(theory.apply_transform(x[None], transform), transform) == pytest.approx(x[None])
    if classes > 2:
        assert np.corrcoef(tx, ty)[0, 1] == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_lemma_2_order_is_kept_says_yes_and_no():
    scores = softmax_rows(20, 6)
    assert theory.order_is_kept(scores, U.release(scores))
    assert not theory.order_is_kept(scores, scores[:, ::-1])
    assert not theory.order_is_kept([0.5, 0.5], [0.4, 0.6])
    assert not theory.order_is_kept([0.6, 0.4], [0.5, 0.5])
    assert theory.order_is_kept([0.5, 0.5], [0.5, 0.5])


def test_remark_on_schedules():
    assert theory.schedule_keeps_order(PLUS.intervals(5).sigma)
    assert not theory.schedule_keeps_order(np.array([1.0, 2.0]))
    # and a rising schedule really can break the order
    c, u, sigma = np.array([0.51, 0.49]), np.array([0.5, 0.49]), np.array([0.1, 5.0])
    p = c * (1 + sigma * u)
    assert p[0] < p[1]


@given(st.integers(2, 30), transforms, st.integers(0, 99), st.floats(0.01, 10))
def test_lemma_3_operator_norm(classes, transform, seed, strength):
    matrix = perturbed_matrix(classes, strength, transform, seed)
    norm = np.linalg.norm(matrix.T @ matrix - np.eye(classes), 2)
    assert norm <= theory.operator_norm_bound(strength) * (1 + 1e-9)


def test_lemma_3_is_nearly_reached():
    norm = np.linalg.norm(np.square(perturbed_matrix(5, 0.3, "identity", 0)) - np.eye(5), 2)
    assert norm == pytest.approx(theory.operator_norm_bound(0.3))


@given(st.integers(2, 30), transforms, st.integers(0, 99), st.floats(0.01, 2))
def test_theorem_1_distance_bounds_printed_and_sharp(classes, transform, seed, strength):
    matrix = perturbed_matrix(classes, strength, transform, seed)
    x, y = softmax_rows(2, classes, seed=seed)
    assume(np.linalg.norm(x - y) > 1e-9)
    for scale in (1.0, 0.1):  # equal sums, as scores have, and unequal ones
        ratio = np.linalg.norm(matrix @ x - matrix @ (scale * y)) / np.linalg.norm(x - scale * y)
        sharp = theory.sharp_distance_bounds(strength, equal_sums=scale == 1.0)
        for low, high in (theory.distance_bounds(strength), sharp):
            assert low * (1 - 1e-9) <= ratio <= high * (1 + 1e-9)


def test_theorem_1_sharp_bounds_are_reached():
    ones, matrix = np.ones(5), perturbed_matrix(5, 0.3, "householder", 0)
    assert np.linalg.norm(matrix @ ones) / np.linalg.norm(ones) == pytest.approx(0.7)
    swap = np.array([1.0, -1.0, 0, 0, 0])
    assert np.linalg.norm(matrix @ swap) / np.linalg.norm(swap) == pytest.approx(1.3)


def test_theorem_1_is_vacuous_from_sigma_0414():
    assert theory.distance_bounds(0.48 / 1.17)[0] > 0
    assert theory.distance_bounds(0.48 / 1.15)[0] == 0
    assert theory.sharp_distance_bounds(0.48 / 1.15) == (1.0, 1 + 0.48 / 1.15)
    assert theory.sharp_distance_bounds(0.4, equal_sums=False)[0] > theory.distance_bounds(0.4)[0]


def test_theorem_1_does_not_bound_the_distance_of_two_releases():
    """Fresh draws: equal scores are some distance apart after release, which no multiple of zero bounds."""
    a, b = (U.release(SCORES, draws=privee.seeded(seed)) for seed in (1, 2))
    assert np.linalg.norm(a - b) > 0.01


@given(st.integers(2, 30), transforms, st.integers(0, 99), st.floats(0.001, 0.4))
def test_corollary_1_correlation_bound(classes, transform, seed, strength):
    matrix = perturbed_matrix(classes, strength, transform, seed)
    x, y = softmax_rows(2, classes, seed=seed)

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    moved = abs(cosine(matrix @ x, matrix @ y) - cosine(x, y))
    assert moved <= theory.correlation_bound(strength) + 1e-12


def test_corollary_1_vacuous_from_sigma_0225():
    assert theory.correlation_bound(0.224) < 2 < theory.correlation_bound(0.226)
    assert theory.correlation_bound(0.42) == np.inf


@BOTH
def test_theorem_2_interval_holds_the_scores(defense):
    scores = softmax_rows(200, 8, 1.0)
    low, high = theory.reconstruction_interval(defense.release(scores), defense)
    slack = 1e-15
    assert (low - slack <= scores).all()
    assert (scores <= high + slack).all()
    widest = (defense.intervals(8).factor_high / defense.intervals(8).factor_low).max()
    assert (high / low <= widest * (1 + 1e-9)).all()
    one = theory.reconstruction_interval(defense.release(scores[0]), defense)
    assert one[0].shape == (8,)


def test_theorem_2_identity_needs_no_shift():
    defense = privee.PriveeU(rho=0.3, transform="identity")
    low, high = theory.reconstruction_interval(defense.release(SCORES), defense)
    assert ((low <= SCORES) & (high >= SCORES)).all()


@given(
    st.integers(2, 12), st.integers(0, 200), st.sampled_from([U, PLUS, privee.PriveeU(rho=0.2, transform="identity")])
)
def test_theorem_3_other_scores_give_the_same_release(classes, seed, defense):
    scores = softmax_rows(1, classes, 1.0, seed)[0]
    release = defense.release(scores, draws=privee.seeded(seed))
    found = theory.other_scores(scores, release, defense)
    public = defense.intervals(classes)
    sigma, low = (theory.ambiguity.by_class(x, scores) for x in (public.sigma, public.low))
    assert np.abs(found.scores - scores).sum() == pytest.approx(found.radius)
    assert found.radius > 0
    assert found.scores.sum() == pytest.approx(scores.sum())
    assert (privee.ranking(found.scores) == privee.ranking(scores)).all()
    assert (found.draws >= low - 1e-9).all()
    assert (found.draws <= low + public.width + 1e-9).all()
    assert found.scores * (1 + sigma * found.draws) - public.shift == pytest.approx(release, abs=1e-14)


def test_theorem_3_printed_radius_can_change_the_ranking():
    """Two near-equal scores with roomy intervals: a shift inside the printed radius swaps them."""
    defense, scores = privee.PriveeU(rho=0.1), np.array([0.4001, 0.4, 0.1999])
    u = np.array([5 / 6, 1 / 2, 1 / 6])
    release = scores * (1 + 4.8 * u) - 2 / 3
    radius = theory.printed_radius(scores, release, defense, gains=1, loses=0)
    shifted = scores + 0.9 * radius * np.array([-1, 1, 0])
    assert radius > 0.01
    assert privee.ranking(shifted).tolist() != privee.ranking(scores).tolist()
    ours = theory.other_scores(scores, release, defense)
    assert privee.ranking(ours.scores).tolist() == privee.ranking(scores).tolist()


def test_theorem_3_needs_room():
    with pytest.raises(privee.PriveeError, match="no room to move"):
        theory.other_scores([1.0, 0.0], U.release([1.0, 0.0]), U)


def test_worked_example_of_the_paper():
    defense = privee.PriveeU(rho=0.48)  # sigma = 1
    scores = np.array([0.2, 0.8])
    releases = scores * (1 + np.array([[0.4, 0.9], [0.1, 0.7], [0.3, 0.8]])) - 1
    estimate = theory.minimum_estimate(releases, defense)
    assert estimate == pytest.approx([0.22, 0.9067], abs=1e-4)
    assert np.abs(estimate - scores).mean() == pytest.approx(0.0633, abs=5e-5)
    expected = theory.expected_error(theory.rate(scores, defense), queries=3)
    assert expected == pytest.approx([0.025, 0.0667], abs=5e-5)
    assert expected.mean() == pytest.approx(0.0458, abs=5e-5)


def test_rate_is_the_printed_kappa():
    sigma, low = 0.48 / 0.3, np.array([0, 0.75, 0.25, 0.5])
    assert theory.rate(SCORES, U) == pytest.approx(4 * (1 + sigma * low) / (SCORES * sigma))
    assert theory.rate(np.tile(SCORES, (2, 1)), U).shape == (2, 4)
    with pytest.raises(privee.SettingError, match="minimum or midrange"):
        theory.rate(SCORES, U, "mean")


def errors(defense, estimator, queries: int, runs: int) -> np.ndarray:
    """Errors of an estimator in `runs` simulated attacks of T queries each, by class."""
    releases = defense.release(np.tile(SCORES, (runs * queries, 1)), draws=privee.seeded(queries))
    return np.stack([estimator(group, defense) - SCORES for group in releases.reshape(runs, queries, 4)])


ESTIMATORS = {"minimum": theory.minimum_estimate, "midrange": theory.midrange_estimate}


@BOTH
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("queries", [1, 5, 50])
def test_theorem_4_law_of_the_error(defense, name, queries):
    """The whole distribution, by Kolmogorov-Smirnov per class; each fails by chance with probability 1e-6."""
    found = errors(defense, ESTIMATORS[name], queries, 2000)
    if name == "minimum":
        assert (found >= -1e-12).all()
    kappa = theory.rate(SCORES, defense, name)
    for j in range(4):
        law = stats.kstest(
            np.abs(found[:, j]), lambda d, k=kappa[j]: theory.hit_probability(k * d, tolerance=1.0, queries=queries)
        )
        assert law.pvalue > CHANCE


@BOTH
@pytest.mark.parametrize("name", ESTIMATORS)
def test_expected_error(defense, name):
    """Five standard errors per class: chance below 1e-5 for the whole test."""
    found = np.abs(errors(defense, ESTIMATORS[name], 10, 4000))
    expected = theory.expected_error(theory.rate(SCORES, defense, name), queries=10)
    assert (np.abs(found.mean(axis=0) - expected) < 5 * found.std(axis=0) / np.sqrt(len(found))).all()


def test_midrange_needs_about_half_the_queries():
    ratio = theory.rate(SCORES, U, "midrange") / theory.rate(SCORES, U, "minimum")
    assert (ratio > 2).all()
    at_most = {"minimum": 0, "midrange": 0}
    for name in at_most:
        at_most[name] = theory.query_budget(theory.rate(SCORES, U, name), tolerance=0.001, probability=0.5)[1]
    assert at_most["midrange"] <= at_most["minimum"] / 2


@given(st.floats(1e-3, 1e4), st.floats(1e-6, 0.5), st.floats(0.01, 0.99))
def test_corollary_2_budget_is_the_largest_that_keeps_the_promise(kappa, tolerance, probability):
    budget = int(theory.query_budget(kappa, tolerance=tolerance, probability=probability))
    assert theory.hit_probability(kappa, tolerance=tolerance, queries=budget) <= probability * (1 + 1e-9)
    assert theory.hit_probability(kappa, tolerance=tolerance, queries=budget + 1) > probability * (1 - 1e-9)


def test_corollary_2_exact_cases_and_smallest():
    assert theory.query_budget(0.5, tolerance=1.0, probability=0.875) == 3
    assert theory.query_budget(5.0, tolerance=1.0, probability=0.9) == 0
    with pytest.raises(privee.SettingError, match="tolerance must be above 0"):
        theory.query_budget(1.0, tolerance=0, probability=0.5)
    budgets = theory.query_budget(theory.rate(SCORES, U), tolerance=1e-4, probability=0.5)
    smallest = theory.smallest_budget(SCORES, U, tolerance=1e-4, probability=0.5)
    assert smallest == budgets.min() == budgets[0]
    assert theory.smallest_budget([1.0, 0.0], U, tolerance=1e-4, probability=0.5) == 0


def test_relative_rate_needs_no_scores():
    by_rank = theory.relative_rate(PLUS, 4)
    assert theory.rate(SCORES, PLUS) * SCORES == pytest.approx(theory.ambiguity.by_class(by_rank, SCORES))
