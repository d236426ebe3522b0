"""AUC with ties, its standard errors, and the share of right ones among the top candidates."""

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.metrics import roc_auc_score

from privee.audit.exposure.paired_auc import chance_if_few, difference_error, placements, top_precision


@pytest.mark.parametrize("seed", range(5))
def test_auc_is_scikit_learns_with_ties(seed):
    rng = np.random.default_rng(seed)
    scores, holds = rng.integers(0, 8, 200) / 7, rng.random(200) < 0.2
    assert placements(scores, holds).auc == pytest.approx(roc_auc_score(holds, scores), abs=1e-12)


def test_standard_errors_are_those_of_repeated_tables():
    """1,000 tables: the spread of AUC, and of the difference of two, against the mean stated error; within 10 %."""
    rng = np.random.default_rng(1)
    aucs, gaps, errors, gap_errors = [], [], [], []
    for _ in range(1000):
        holds = rng.random(150) < 0.3
        common = rng.normal(size=150) + holds
        one, other = (placements(common + rng.normal(size=150) * 0.5, holds) for _ in range(2))
        aucs.append(one.auc)
        gaps.append(one.auc - other.auc)
        errors.append(one.error)
        gap_errors.append(difference_error(one, other))
    assert np.mean(errors) == pytest.approx(np.std(aucs), rel=0.1)
    assert np.mean(gap_errors) == pytest.approx(np.std(gaps), rel=0.1)


def test_two_scores_that_tell_alike_differ_by_chance_alone():
    """The one-sided 5 % test on 500 tables: rejections are binomial(500, 0.05); 99.99 % of the time below 46."""
    rng = np.random.default_rng(2)
    rejected = 0
    for _ in range(500):
        holds = rng.random(300) < 0.3
        one, other = (placements(rng.normal(size=300) + holds, holds) for _ in range(2))
        rejected += (one.auc - other.auc) / difference_error(one, other) > 1.645
    assert 5 < rejected < binom.isf(1e-4, 500, 0.05)


@pytest.mark.parametrize("few", [3, 12])
@pytest.mark.parametrize("auc", [0.5, 0.8])
def test_few_records_are_told_by_chance_no_more_often_than_stated(few, auc):
    """Two scores that tell alike, 2,000 tables: p-values below 1 % are binomial(2000, 0.01) at most; level 1e-4."""
    rng = np.random.default_rng(few)
    holds = np.arange(200) < few
    shift = holds * norm.ppf(auc) * np.sqrt(2)
    made = ((placements(rng.normal(size=200) + shift, holds) for _ in range(2)) for _ in range(2000))
    assert sum(chance_if_few(*pair) < 0.01 for pair in made) < binom.isf(1e-4, 2000, 0.01)


def test_few_records_that_are_told_are_seen():
    """Six of 300 at the top, where a guess has an AUC of 0.6; and the same question turned round."""
    rng = np.random.default_rng(0)
    holds = np.arange(300) < 6
    noise = rng.normal(size=300)
    told, guess = placements(noise + 9 * holds, holds), placements(noise + 0.36 * holds, holds)
    assert chance_if_few(told, guess) < 1e-6
    assert chance_if_few(guess, guess) > 0.05
    turned = [placements(-values, ~holds) for values in (noise + 9 * holds, noise + 0.36 * holds)]
    assert chance_if_few(*turned) == pytest.approx(chance_if_few(told, guess))


def test_precision_among_the_top_candidates_shares_ties():
    holds = np.array([True, True, False, False, False])
    assert top_precision(np.array([0.9, 0.8, 0.3, 0.2, 0.1]), holds) == 1
    assert top_precision(np.array([0.1, 0.2, 0.3, 0.8, 0.9]), holds) == 0
    assert top_precision(np.zeros(5), holds) == pytest.approx(2 / 5)  # an estimate that is the same for all
    assert top_precision(np.array([0.9, 0.5, 0.5, 0.5, 0.1]), holds) == pytest.approx((1 + 1 / 3) / 2)
