"""The contract every defense keeps, and what is particular to each."""

import json

import numpy as np
import pytest

import privee
from privee.baselines import EncryptedTopK, FrequencyHidingEncryption, OrderPreservingEncryption

VARIED = [  # settings worth a look of their own
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
    privee.RecordOrder(4.0),
    privee.RecordOrder(0.5, positive=1),
    OrderPreservingEncryption(),
    OrderPreservingEncryption(plaintext_bits=12, ciphertext_bits=20, seed=3),
    FrequencyHidingEncryption(),
    EncryptedTopK(2),
]
EVERY = VARIED + [
    privee.defense(cls.example or name)
    for name, cls in privee.known_defenses().items()
    if cls not in {type(defense) for defense in VARIED}  # a new one is held to the contract without being named here
]
every = pytest.mark.parametrize("defense", EVERY, ids=[d.spec for d in EVERY])
QUICK = [d for d in EVERY if not d.slow]  # slow ones keep the contract on a few rows, in a file of their own
quick = pytest.mark.parametrize("defense", QUICK, ids=[d.spec for d in QUICK])


def test_every_registered_defense_is_covered_here():
    assert {type(d) for d in EVERY} == set(privee.known_defenses().values())


@every
def test_what_it_says_of_itself_holds(defense):
    """An audit can make what it names, and `recommend` what it may choose."""
    assert [privee.defense(spec).spec for spec in defense.audited] == list(defense.audited)
    said = defense.advice
    assert not (said.wins and said.unprotective)
    assert bool(said.wins) == bool(said.keeps)
    if said.meaningful:
        made = type(defense).within(2.0, keep_top=None, public=None)
        assert (type(made), made.guarantee(5).epsilon) == (type(defense), 2.0)


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
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_an_order_that_is_shown_says_what_asking_again_tells(defense, classes):
    """The whole ranking falls with each question, leading classes so many times slower; docs/chosen_questions.md."""
    said = [line for line in defense.guarantee(classes).not_covered if line.startswith("chosen own columns: ")]
    assert len(said) == defense.monotone, "a release that proves an order says so, and no other does"
    if defense.preserves_order:
        assert "each question halves" in said[0]
        assert ", 5 leave 1/32 " in said[0]


def test_what_asking_again_tells_is_in_the_numbers_of_this_defense():
    told = {spec: " ".join(privee.defense(spec).guarantee(10).not_covered) for spec in ("label-only", "top-k:k=3")}
    assert "every 9 questions halve" in told["label-only"]
    assert ", 45 leave 1/32 " in told["label-only"]
    assert "every 3 questions halve" in told["top-k:k=3"]
    assert "every 9 questions halve" in " ".join(privee.OrderedDP(1.0, keep_top=1).guarantee(10).not_covered)
    assert "each question halves" in " ".join(privee.LabelOnly().guarantee(2).not_covered)


@quick
def test_a_class_released_above_another_scored_no_less_where_that_is_claimed(defense, scores):
    release = defense.release(scores)
    order = np.argsort(-release, axis=1, kind="stable")
    given, shown = np.take_along_axis(scores, order, axis=1), np.take_along_axis(release, order, axis=1)
    broken = (shown[:, :-1] > shown[:, 1:]) & (np.minimum.accumulate(given, axis=1)[:, :-1] < given[:, 1:])
    assert not (defense.monotone and broken.any())


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
        (lambda: privee.defense("privee-x"), "no defense is called 'privee-x'; there are none, temperature, "),
        (lambda: privee.defense("privee-u"), "privee-u needs rho"),
        (lambda: privee.defense("privee-u:rho"), "expected setting=value"),
        (lambda: privee.defense("privee-u:rho=0.1,sigma=2"), "no setting sigma; its settings: "),
        (lambda: privee.defense("rounding", digit=2), "no setting digit"),
    ],
)
def test_bad_settings_are_refused_when_the_defense_is_made(make, message):
    with pytest.raises(privee.SettingError, match=message):
        make()


def test_specs_take_words_numbers_and_lists():
    assert privee.defense("privee-u+:schedule=[0.1,0.2,0.3],transform=identity") == privee.PriveeUPlus(
        schedule=(0.1, 0.2, 0.3), transform="identity"
    )
    assert privee.defense("gaussian:epsilon=0.5,delta=1e-6") == privee.GaussianNoise(0.5, delta=1e-6)
    assert privee.defense("privee-u:rho=0.1", transform="identity").transform == "identity"
