"""What a release keeps: lemmas 1 to 3, theorem 1 and corollary 1, one test per statement."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import privee
from privee import theory
from tests._support.scores import softmax_rows

U = privee.PriveeU(rho=0.3)
PLUS = privee.PriveeUPlus(rho_low=0.1, rho_high=0.6)
SCORES = np.array([0.05, 0.5, 0.15, 0.3])


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
