"""The contract every defense keeps, and what is particular to each."""

import importlib.metadata
import json
from importlib.metadata import EntryPoint, EntryPoints

import diffprivlib.mechanisms
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import privee
from privee.baselines import EncryptedTopK, FrequencyHidingEncryption, OrderPreservingEncryption
from privee.defenses.gaussian_noise import true_epsilon
from privee.defenses.registry import DEFENSES
from tests.conftest import softmax_rows

EVERY = [
    privee.NoDefense(),
    privee.PriveeU(rho=0.1),
    privee.PriveeU(rho=0.7, transform="identity", draw_range=3.0),
    privee.PriveeUPlus(rho_low=0.1, rho_high=0.9),
    privee.Rounding(2),
    privee.GaussianNoise(0.5),
    privee.TopK(3),
    privee.Temperature(2.0),
    privee.LabelOnly(),
    privee.RankingOnly(),
    privee.OrderedDP(8.0),
    privee.OrderedDP(0.5, spend="all"),
    privee.OrderedDP(8.0, keep_top=2, prior=(4.0, 1.0), tail=0.7),
    OrderPreservingEncryption(),
    OrderPreservingEncryption(plaintext_bits=12, ciphertext_bits=20, seed=3),
    FrequencyHidingEncryption(),
    EncryptedTopK(2),
]
every = pytest.mark.parametrize("defense", EVERY, ids=[d.spec for d in EVERY])
QUICK = [d for d in EVERY if not d.slow]  # slow ones keep the contract on a few rows, in a file of their own
quick = pytest.mark.parametrize("defense", QUICK, ids=[d.spec for d in QUICK])


def test_every_registered_defense_is_covered_here():
    assert {type(d) for d in EVERY} == set(privee.known_defenses().values())


@quick
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestContract:
    def test_shape_and_dtype(self, defense, dtype, scores):
        scores = scores.astype(dtype)
        for given_scores in (scores, scores[0], scores[:1], scores[:0]):
            release = defense.release(given_scores)
            assert release.shape == given_scores.shape
            assert release.dtype == dtype
            estimate = defense.estimate_scores(release)
            assert estimate.shape == given_scores.shape
            assert estimate.dtype == dtype

    def test_input_is_left_alone_and_not_shared(self, defense, dtype, scores):
        scores = scores.astype(dtype)
        kept = scores.copy()
        release = defense.release(scores)
        release[:] = 7
        assert (scores == kept).all()

    def test_seed_repeats(self, defense, dtype, scores):
        a, b = (defense.release(scores.astype(dtype), draws=privee.seeded(9)) for _ in range(2))
        assert (a == b).all()

    def test_saturated_rows_stay_finite(self, defense, dtype, scores):
        saturated = np.eye(4, dtype=dtype)
        release = defense.release(saturated)
        assert np.isfinite(release).all()
        assert np.isfinite(defense.estimate_scores(release)).all()

    def test_estimate_is_a_score_array(self, defense, dtype, scores):
        estimate = defense.estimate_scores(defense.release(scores.astype(dtype)))
        assert (estimate >= 0).all()
        assert np.allclose(estimate.sum(axis=1), 1, atol=1e-5)

    def test_knowing_the_defense_beats_ignoring_it(self, defense, dtype, scores):
        """The adaptive estimate is never further from the scores than the raw release (in mean square).

        Scores are drawn from the flat prior that the estimates assume.
        """
        spacings = privee.seeded(4).exponential((500, 10))
        scores = (spacings / spacings.sum(axis=1, keepdims=True)).astype(dtype)
        release = defense.release(scores, draws=privee.seeded(4))
        naive, adaptive = (np.square(x - scores).mean() for x in (release, defense.estimate_scores(release)))
        assert adaptive <= naive + 1e-12

    def test_order_claim_is_true(self, defense, dtype, scores):
        release = defense.release(scores.astype(dtype))
        if defense.preserves_order:
            assert privee.theory.order_is_kept(scores.astype(dtype), release)


@every
def test_settings_round_trip_through_json_and_spec(defense):
    assert privee.defense(**json.loads(json.dumps(defense.settings()))) == defense
    assert privee.defense(defense.spec) == defense
    assert type(defense).__name__ in repr(defense)
    assert hash(defense) == hash(privee.defense(defense.spec))


@every
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_guarantee_is_plain_and_serialisable(defense, classes):
    guarantee = defense.guarantee(classes)
    assert guarantee.proven
    assert guarantee.not_covered
    assert json.loads(json.dumps(guarantee.as_dict()))["proven"] == guarantee.proven


@every
def test_bad_releases_are_refused(defense):
    with pytest.raises(privee.ScoreError, match="not a finite number"):
        defense.estimate_scores([0.5, np.nan])
    with pytest.raises(privee.ScoreError, match="two classes"):
        defense.estimate_scores([[0.5]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: privee.PriveeU(rho=0), "rho must be a number above 0"),
        (lambda: privee.PriveeU(rho=float("nan")), "rho must be a number above 0"),
        (lambda: privee.PriveeU(rho="0.1"), "rho must be a number above 0"),
        (lambda: privee.PriveeU(rho=True), "rho must be a number above 0"),
        (lambda: privee.PriveeU(rho=1e-300), "too small"),
        (lambda: privee.PriveeU(rho=0.1, amplitude=-1), "amplitude must be"),
        (lambda: privee.PriveeU(rho=0.1, draw_range=0), "draw_range must be"),
        (lambda: privee.PriveeU(rho=0.1, transform="fisip"), "householder, identity"),
        (privee.PriveeUPlus, "rho_low and rho_high, or a schedule"),
        (lambda: privee.PriveeUPlus(rho_low=0.1), "rho_low and rho_high, or a schedule"),
        (lambda: privee.PriveeUPlus(rho_low=0.5, rho_high=0.1), "order breaks"),
        (lambda: privee.PriveeUPlus(schedule=(0.1, 0.3, 0.2)), "falls from 0.3 to 0.2 after rank position 2"),
        (lambda: privee.PriveeUPlus(schedule=(0.1,)), "at least two"),
        (lambda: privee.PriveeUPlus(schedule=(0.1, -1)), "schedule position 2"),
        (lambda: privee.PriveeUPlus(schedule=("a", "b")), "list of numbers"),
        (lambda: privee.PriveeUPlus(schedule=(0.1, 0.2), rho_low=0.1, rho_high=1), "not both"),
        (lambda: privee.Rounding(-1), "digits must be a whole number"),
        (lambda: privee.Rounding(1.5), "digits must be a whole number"),
        (lambda: privee.GaussianNoise(2.0), "at most 1"),
        (lambda: privee.GaussianNoise(0.5, delta=1.0), "delta must be below 1"),
        (lambda: privee.TopK(0), "k must be a whole number"),
        (lambda: privee.Temperature(0), "temperature must be"),
        (lambda: privee.defense("privee-x"), "no defense is called 'privee-x'; there are fh-ope, gaussian, "),
        (lambda: privee.defense("privee-u"), "privee-u needs rho"),
        (lambda: privee.defense("privee-u:rho"), "expected setting=value"),
        (lambda: privee.defense("privee-u:rho=0.1,sigma=2"), "no setting sigma; its settings: "),
        (lambda: privee.defense("rounding", digit=2), "no setting digit"),
    ],
)
def test_bad_settings_are_refused_when_the_defense_is_made(make, message):
    with pytest.raises(privee.SettingError, match=message):
        make()


def test_schedule_length_must_fit_the_scores():
    defense = privee.PriveeUPlus(schedule=(0.1, 0.2, 0.3))
    with pytest.raises(privee.SettingError, match="3 rank positions, the scores 2 classes"):
        defense.release([0.5, 0.5])


def test_specs_take_words_numbers_and_lists():
    assert privee.defense("privee-u+:schedule=[0.1,0.2,0.3],transform=identity") == privee.PriveeUPlus(
        schedule=(0.1, 0.2, 0.3), transform="identity"
    )
    assert privee.defense("gaussian:epsilon=0.5,delta=1e-6") == privee.GaussianNoise(0.5, delta=1e-6)
    assert privee.defense("privee-u:rho=0.1", transform="identity").transform == "identity"


def test_registry_refuses_duplicates_and_loads_entry_points(monkeypatch):
    class Impostor(privee.NoDefense):
        name = "rounding"

    with pytest.raises(privee.SettingError, match="'rounding' exists already"):
        privee.register(Impostor)
    assert privee.register(privee.Rounding) is privee.Rounding

    point = EntryPoint("shy", f"{__name__}:ShyDefense", DEFENSES.entry_points)
    monkeypatch.setattr(DEFENSES, "_known", dict(DEFENSES._known))
    monkeypatch.setattr(DEFENSES, "_discovered", False)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: EntryPoints([point]).select(group=group))
    assert isinstance(privee.defense("shy"), ShyDefense)


class ShyDefense(privee.NoDefense):
    """Stands for a defense of another package."""

    name = "shy"


# --- PRIVEE-U and U+ -------------------------------------------------------------------------------------------------


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


def test_plus_with_one_rho_is_privee_u(scores):
    u, plus = privee.PriveeU(rho=0.2), privee.PriveeUPlus(rho_low=0.2, rho_high=0.2)
    assert (u.release(scores, draws=privee.seeded(1)) == plus.release(scores, draws=privee.seeded(1))).all()


def test_inverse_is_close_to_the_exact_posterior_for_two_classes():
    """With K = 2 the posterior mean is a one-dimensional integral; ours may cost at most 3 % more in mean square."""
    defense = privee.PriveeU(rho=0.1)
    scores = softmax_rows(4000, 2, 1.0)
    release = defense.release(scores, draws=privee.seeded(2))
    low, high = privee.theory.reconstruction_interval(release, defense)
    low0, high0 = np.maximum(low[:, 0], 1 - high[:, 1]), np.minimum(high[:, 0], 1 - low[:, 1])
    grid = low0[:, None] + (high0 - low0)[:, None] * np.linspace(0, 1, 401)
    weight = 1 / (grid * (1 - grid))
    exact = (weight * grid).sum(axis=1) / weight.sum(axis=1)
    ours = defense.estimate_scores(release)[:, 0]
    best = np.square(exact - scores[:, 0]).mean()
    assert np.square(ours - scores[:, 0]).mean() <= 1.03 * best


def test_inverse_halves_the_error_of_dividing_by_the_middle_factor():
    for classes, spread in ((10, 3.0), (100, 3.0)):
        defense, scores = privee.PriveeU(rho=0.1), softmax_rows(500, classes, spread)
        release = defense.release(scores, draws=privee.seeded(3))
        public = defense.intervals(classes)
        middle = privee.theory.ambiguity.by_class((public.factor_low + public.factor_high) / 2, release)
        plain = np.abs((release + public.shift) / middle - scores).mean()
        assert np.abs(defense.estimate_scores(release) - scores).mean() < 0.75 * plain


# --- the others ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta", "sensitivity"), [(0.5, 1e-5, 0.1), (0.7, 1e-5, 0.1), (1.0, 1e-6, 1.4)])
def test_gaussian_scale_agrees_with_diffprivlib(epsilon, delta, sensitivity):
    theirs = diffprivlib.mechanisms.Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    assert privee.GaussianNoise(epsilon, delta, sensitivity).scale == pytest.approx(theirs._scale, rel=1e-12)


def test_gaussian_true_epsilon_agrees_with_diffprivlib():
    """Their analytic mechanism finds the scale for an epsilon; ours finds the epsilon for that scale."""
    for epsilon in (0.1, 1.0, 5.0):
        theirs = diffprivlib.mechanisms.GaussianAnalytic(epsilon=epsilon, delta=1e-5, sensitivity=0.1)
        assert true_epsilon(theirs._scale, 1e-5, 0.1) == pytest.approx(epsilon, rel=1e-6)


def test_gaussian_says_that_its_sensitivity_is_an_assumption():
    guarantee = privee.GaussianNoise(0.5).guarantee(10)
    assert "assumed" in guarantee.assumptions[0]
    assert guarantee.figures["epsilon_any_two_score_vectors"] > 6


def test_gaussian_noise_has_the_stated_scale():
    defense = privee.GaussianNoise(0.7)
    noise = defense.release(np.full((20_000, 4), 0.25)) - 0.25
    assert stats.kstest(noise.ravel(), "norm", args=(0, defense.scale)).pvalue > 1e-6


def test_rounding_estimate_uses_the_interval_and_the_sum():
    estimate = privee.Rounding(1).estimate_scores([0.8, 0.2, 0.0, 0.0])
    assert estimate.sum() == pytest.approx(1)
    assert 0.75 <= estimate[0] <= 0.85
    assert 0 < estimate[2] <= 0.05


def test_top_k_keeps_the_leading_scores_and_shares_the_rest():
    defense = privee.TopK(2)
    release = defense.release([0.1, 0.5, 0.1, 0.3])
    assert release.tolist() == [0, 0.5, 0, 0.3]
    assert defense.estimate_scores(release) == pytest.approx([0.1, 0.5, 0.1, 0.3])
    assert privee.TopK(2).release([0.25, 0.25, 0.25, 0.25]).tolist() == [0.25, 0.25, 0, 0]
    assert privee.TopK(9).release([0.4, 0.6]).tolist() == [0.4, 0.6]


def test_temperature_is_undone_exactly(scores):
    for temperature in (0.5, 3.0):
        defense = privee.Temperature(temperature)
        release = defense.release(scores)
        assert release.sum(axis=1) == pytest.approx(1)
        assert defense.estimate_scores(release) == pytest.approx(scores, rel=1e-9)


def test_label_only_is_argmax(scores):
    release = privee.LabelOnly().release(scores)
    assert (release.sum(axis=1) == 1).all()
    assert (release.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert privee.LabelOnly().release([0.4, 0.4, 0.2]).tolist() == [1, 0, 0]


def test_ranking_only_depends_on_the_ranking_alone():
    """Same ranking, same draws: the same release bit for bit, ties and magnitudes notwithstanding."""
    same = np.array([[0.5, 0.3, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [1 - 1e-9, 9e-10, 1e-10, 0]])
    releases = [privee.RankingOnly().release(row, draws=privee.seeded(8)) for row in same]
    for release in releases[1:]:
        assert (release == releases[0]).all()
    assert not (privee.RankingOnly().release(same[0]) == privee.RankingOnly().release(same[0])).any()


def test_ranking_only_does_not_show_ties_where_rounding_needs_repair():
    """50,000 classes in float32: neighbours collide, and the repair must not look at which scores were equal."""
    level = np.full(50_000, 1 / 50_000, dtype=np.float32)
    falling = np.linspace(2 / 50_000, 0, 50_000, dtype=np.float32)
    a, b = (privee.RankingOnly().release(scores, draws=privee.seeded(2)) for scores in (level, falling))
    assert (a == b).all()


def test_ranking_only_is_a_uniform_sorted_probability_vector():
    """Each position's mean is the closed form; five standard errors, so chance is below 1e-5 over all positions."""
    release = privee.RankingOnly().release(np.tile([0.4, 0.3, 0.2, 0.1], (50_000, 1)), draws=privee.seeded(5))
    assert release.sum(axis=1) == pytest.approx(1)
    assert (release > 0).all()
    expected = np.array([25, 13, 7, 3]) / 48
    error = release.std(axis=0) / np.sqrt(len(release))
    assert (np.abs(release.mean(axis=0) - expected) < 5 * error).all()
    assert privee.RankingOnly().estimate_scores(release[:1])[0] == pytest.approx(expected)
