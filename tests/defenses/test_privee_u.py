"""PRIVEE-U is the formula of the paper."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import privee
from tests._support.scores import softmax_rows


@given(st.integers(2, 30), st.sampled_from(["householder", "identity"]), st.sampled_from([1.0, 3.0]))
def test_privee_u_is_the_paper_formula(classes, transform, draw_range):
    """Against a K x K matrix, built here only: A_pert c with diagonal A_jj + u_j sigma."""
    rho, scores = 0.3, softmax_rows(3, classes, 1.0, seed=classes)
    defense = privee.PriveeU(rho=rho, transform=transform, draw_range=draw_range)
    release = defense.release(scores, draws=privee.seeded(classes))
    raw = privee.seeded(classes).uniform(scores.shape)
    for c, p, v in zip(scores, release, raw, strict=True):
        rank = np.argsort(np.argsort(-c)) + 1
        k = classes + 1 - rank
        u = draw_range * (k - 1 + v[k - 1]) / classes
        matrix = np.eye(classes) - (2 / classes if transform == "householder" else 0)
        matrix[np.diag_indices(classes)] += u * 0.48 / rho
        assert np.allclose(matrix @ c, p, rtol=1e-12, atol=1e-14)


def test_draws_are_uniform_on_the_interval_of_their_rank():
    """Kolmogorov-Smirnov on every rank position; each fails by chance with probability 1e-6."""
    scores = np.array([0.1, 0.4, 0.2, 0.3])
    for defense in (privee.PriveeU(rho=0.2), privee.PriveeUPlus(schedule=(0.1, 0.1, 0.2, 0.4), draw_range=3.0)):
        release = defense.release(np.tile(scores, (20_000, 1)))
        public = defense.intervals(4)
        for position, j in enumerate(privee.ranking(scores)):
            u = ((release[:, j] + 0.5) / scores[j] - 1) / public.sigma[position]
            assert stats.kstest(u, "uniform", args=(public.low[position], public.width)).pvalue > 1e-6
