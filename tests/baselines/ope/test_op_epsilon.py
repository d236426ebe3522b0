"""OP-epsilon: what is proven of a score and of a vector, from the numbers that are drawn with; and its key."""

import itertools
import math
import pickle

import numpy as np
import pytest
from scipy import stats

import privee
from privee.baselines.ope.op_epsilon import OpEpsilon, _chances, _public
from privee.defenses.inverse import project_to_simplex
from privee.defenses.small_nets import synthetic_scores
from tests._support.scores import softmax_rows


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 2.0, 20.0])
@pytest.mark.parametrize("partitions", [2, 7, 10, 50])
def test_a_score_loses_no_more_than_epsilon_times_the_distance(epsilon, partitions):
    public = _public(epsilon, partitions)
    logs = np.log(_chances(public))
    steps = np.abs(np.diff(logs, axis=0)).max()
    assert steps <= epsilon / public.grid * (1 + 1e-9)
    assert steps > 0.45 * epsilon / public.grid  # half of it is for totals, which two intervals hardly change


@pytest.mark.parametrize("partitions", [2, 10, 100])
def test_that_holds_where_whole_weights_end_and_more_epsilon_still_moves_less(partitions):
    """Far below 2**-32 weights stand still at one; the nearest interval must not be among those."""
    scores, moved = softmax_rows(400, 10), []
    for epsilon in (20.0, 200.0, 1000.0, 1e4, 1e5):
        public = _public(epsilon, partitions)
        steps = np.abs(np.diff(np.log(_chances(public)), axis=0)).max()
        assert steps <= epsilon / public.grid * (1 + 1e-9)
        defense = OpEpsilon(epsilon, partitions, seed=1)
        moved.append(np.abs(defense.release(scores, draws=privee.seeded(2)) - scores).mean())
    assert moved[-1] < 0.5 / partitions
    assert (np.diff(moved) < 1e-3).all()


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 16.0])
def test_no_two_vectors_lose_more_than_what_is_said_of_the_whole(classes, epsilon):
    """Corners and drawn vectors, all pairs; the worst of them comes near."""
    public, said = _public(epsilon, 10), OpEpsilon(epsilon).guarantee(classes).epsilon
    logs = np.log(_chances(public))
    corners = [np.r_[np.full(k, 1 / k), np.zeros(classes - k)] for k in range(1, min(classes, 12) + 1)]
    turned = [np.roll(one, 1) for one in corners]
    drawn = [x for c in (0.05, 1.0) for x in np.random.default_rng(0).dirichlet([c] * classes, 6)]
    vectors = [np.floor(one * public.grid + 1e-9).astype(int) for one in (*corners, *turned, *drawn)]
    worst = max((logs[a] - logs[b]).max(axis=1).sum() for a, b in itertools.permutations(vectors, 2))
    assert worst <= said <= 2 * epsilon * (1 + 1e-6) + 1e-6
    assert worst > 0.8 * said


def test_intervals_are_drawn_as_often_as_published():
    """Chi-square over ten intervals, 100,000 scores of 0.33; fails by chance in one of a million runs, seed fixed."""
    defense = OpEpsilon(3.0, seed=1)
    release = defense.release(np.tile([0.33, 0.67], (100_000, 1)), draws=privee.seeded(2))[:, 0]
    counts = np.bincount((release * 10).astype(int), minlength=10)
    published = np.exp(-np.abs(0.33 - (np.arange(10) + 0.5) / 10) * 3.0 / 2)
    assert stats.chisquare(counts, 100_000 * published / published.sum()).pvalue > 1e-6


def test_releases_are_ciphertexts_of_centres_and_nearly_the_centres():
    defense = OpEpsilon(8.0, seed=3)
    release = defense.release(softmax_rows(200, 10))
    assert len(np.unique(release)) <= 10
    centres = defense.decrypt_release(release)
    assert np.isin(centres.round(2), (np.arange(10) + 0.5) / 10).all()
    assert np.abs(release - centres).max() < 0.001  # so encryption hides nothing
    other = OpEpsilon(8.0, seed=4)
    assert not np.isin(np.unique(other.release(softmax_rows(200, 10))), np.unique(release)).any()


def test_the_epsilon_of_whole_vectors_can_be_asked_for():
    for classes, epsilon in ((2, 1.0), (10, 4.0), (100, 16.0)):
        assert OpEpsilon.for_vector(epsilon, classes).guarantee(classes).epsilon == pytest.approx(epsilon, rel=1e-3)


def test_the_inverse_of_two_classes_is_the_posterior_mean():
    """Eight of ten scores flat, two confident: the mean of true scores for each pair of intervals, to five errors."""
    defense = OpEpsilon(10.0, seed=1)
    rng = np.random.default_rng(1)
    one = np.concatenate([rng.beta(1.0, 1.0, 320_000), rng.beta(0.1, 0.1, 80_000)])
    release = defense.release(np.stack([one, 1 - one], axis=1), draws=privee.seeded(2))
    told = (release * 10).astype(int)
    estimate = defense.estimate_scores(release)
    for first, second in ((0, 9), (4, 5), (9, 9), (2, 3)):
        same = (told[:, 0] == first) & (told[:, 1] == second)
        assert estimate[same].std(axis=0).max() < 1e-9
        error = one[same].std() / math.sqrt(same.sum())
        assert abs(estimate[same, 0].mean() - one[same].mean()) < 5 * error + 1e-4


@pytest.mark.parametrize(("epsilon", "most"), [(16.0, 0.9), (64.0, 0.5), (256.0, 0.5)])
@pytest.mark.parametrize("spread", [3.0, 8.0])
def test_the_inverse_gains_on_the_release_of_confident_models(epsilon, most, spread):
    """Against the release made to sum to one, which anyone would try first."""
    scores = synthetic_scores(300, 10, spread, privee.seeded(1))
    defense = OpEpsilon(epsilon, seed=1)
    release = defense.release(scores, draws=privee.seeded(2))
    estimate, naive = defense.estimate_scores(release), release / release.sum(axis=1, keepdims=True)
    assert np.allclose(estimate.sum(axis=1), 1)
    assert np.square(estimate - scores).mean() < most * np.square(naive - scores).mean()


@pytest.mark.parametrize(
    ("classes", "epsilon", "spread"), [(100, 64, 8.0), (100, 64, 3.0), (50, 64, 8.0), (20, 64, 8.0)]
)
def test_the_inverse_knows_models_that_are_sure_of_one_of_many_classes(classes, epsilon, spread):
    """Against the nearest probability vector, which knows nothing of what scores look like."""
    scores = synthetic_scores(200, classes, spread, privee.seeded(1))
    defense = OpEpsilon.for_vector(epsilon, classes, seed=1)
    release = defense.release(scores, draws=privee.seeded(2))
    estimate, nearest = defense.estimate_scores(release), project_to_simplex(release)
    assert np.square(estimate - scores).mean() < 1.1 * np.square(nearest - scores).mean()


def test_flat_scores_of_many_classes_are_still_read_as_flat():
    """Noise of epsilon 16 drowns them: whoever takes some for sure would be off by more than 1 / K is."""
    scores = np.random.default_rng(0).dirichlet([1.0] * 50, 300)
    defense = OpEpsilon.for_vector(16.0, 50, seed=1)
    estimate = defense.estimate_scores(defense.release(scores, draws=privee.seeded(2)))
    assert np.square(estimate - scores).mean() < 1.3 * np.square(1 / 50 - scores).mean()


def test_the_inverse_loses_nothing_on_flat_scores():
    scores = np.random.default_rng(0).dirichlet([1.0] * 10, 300)
    defense = OpEpsilon(64.0, seed=1)
    release = defense.release(scores, draws=privee.seeded(2))
    naive = release / release.sum(axis=1, keepdims=True)
    assert np.abs(defense.estimate_scores(release) - scores).mean() < np.abs(naive - scores).mean()


def test_the_key_stays_out_of_copies_and_a_file_keeps_it(tmp_path):
    (tmp_path / "key").write_bytes(b"k" * 32)
    (tmp_path / "key").chmod(0o600)
    held, again = (OpEpsilon(4.0, key_file=str(tmp_path / "key")) for _ in range(2))
    scores = softmax_rows(20, 5)
    assert (held.release(scores, draws=privee.seeded(1)) == again.release(scores, draws=privee.seeded(1))).all()
    assert held.public_copy().key_file is None
    fresh = OpEpsilon(4.0)
    copied = pickle.loads(pickle.dumps(fresh))  # noqa: S301 (our own bytes)
    assert not np.isin(copied.release(scores), fresh.release(scores)).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OpEpsilon(0), "epsilon must be"),
        (lambda: OpEpsilon(1e6), "epsilon must lie"),
        (lambda: OpEpsilon(1.0, partitions=1), "partitions must be a whole number from 2"),
        (lambda: OpEpsilon(1.0, key_file="k", seed=1), "not both"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(privee.SettingError, match=message):
        make()


def test_the_figure_that_compares_is_below_twice_the_published_one():
    guarantee = OpEpsilon(2.0).guarantee(10)
    assert guarantee.figures["epsilon_per_score_and_distance"] == 2.0
    assert 2.0 < guarantee.epsilon < 4.0
    assert math.isclose(float(guarantee.proven.split("-")[0]), guarantee.epsilon, rel_tol=1e-3)
