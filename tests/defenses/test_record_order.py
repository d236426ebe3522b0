"""Record-order: what it promises, tested in exact numbers and by sampling, and how well it orders records."""

import math

import numpy as np
import pytest
from scipy import stats

import privee
from privee.defenses import record_order
from privee.defenses.record_order import fit_prior
from privee.defenses.windows import CELLS
from tests._support.scores import softmax_rows

RARE = (6.85, 0.31)
"""A prior of two classes whose second has a mean of 4 %."""


def two(positive: np.ndarray) -> np.ndarray:
    return np.stack([1 - positive, positive], axis=1)


def drawn(kind: str, count: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated scores of two classes, and labels."""
    rng = np.random.default_rng(3)
    positive = {
        "even": rng.random(count),
        "credit": 1 / (1 + np.exp(1.5 - 1.2 * rng.normal(size=count))),
        "rare": rng.beta(0.5, 12, count),
        "two heaps": rng.beta(0.3, 0.3, count),
    }[kind]
    return two(positive), rng.random(count) < positive


def auc(release: np.ndarray, labels: np.ndarray) -> float:
    return float(stats.mannwhitneyu(release[labels, 1], release[~labels, 1]).statistic / labels.sum() / (~labels).sum())


# What is promised.


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 4.0, 16.0])
@pytest.mark.parametrize("prior", [None, RARE])
def test_no_two_scores_differ_by_more_than_epsilon_in_any_outcome(epsilon, prior):
    """The transition matrix of all 128 cells, so all pairs of score vectors there are."""
    public = record_order._public(privee.RecordOrder(epsilon, prior=prior), 2)
    high, low, width, starts = int(public.high[0]), int(public.low[0]), int(public.width[0]), public.starts[0]
    inside = (np.arange(CELLS) >= starts[:, None]) & (np.arange(CELLS) < starts[:, None] + width)
    likely = np.where(inside, math.log(high), math.log(low))
    assert (likely.max(axis=0) - likely.min(axis=0)).max() <= epsilon
    assert (likely.max(axis=0) - likely.min(axis=0)).max() > 0.999 * epsilon


@pytest.mark.parametrize("options", [{}, {"positive": 2}])
def test_several_classes_share_epsilon(options):
    defense = privee.RecordOrder(6.0, **options)
    public = record_order._public(defense, 3)
    spent = [math.log(int(high) / int(low)) for high, low in zip(public.high, public.low, strict=True)]
    assert sum(spent) == pytest.approx(6.0, abs=1e-9)
    assert sum(spent) <= 6.0
    assert len(spent) == (1 if options else 3)
    assert defense.guarantee(3).figures["epsilon_per_number"] == 6.0 / len(spent)


def test_nothing_but_the_cell_shows():
    """Scores of one cell get the same release from the same draws, to the last bit, whatever the other classes are."""
    one, other = np.array([0.5, 0.3001, 0.1999]), np.array([0.01, 0.30012, 0.68988])
    defense = privee.RecordOrder(4.0, positive=1)
    public = record_order._public(defense, 3)
    cells = [record_order._cells(scores[None, 1:2], public).item() for scores in (one, other)]
    assert cells[0] == cells[1]
    for seed in range(50):
        a, b = (defense.release(scores, draws=privee.seeded(seed)) for scores in (one, other))
        assert (a == b).all()


def measured_epsilon(defense: privee.RecordOrder, pair: tuple[list[float], list[float]], draws: int = 400_000) -> float:
    """A lower bound on epsilon that is too high with probability 1e-6 at most, over thresholds of one class's score.

    Clopper-Pearson bounds of both probabilities, each with error 1e-6 / (2 x number of events).
    """
    told = [
        defense.release(np.tile(scores, (draws, 1)), draws=privee.seeded(3, k))[:, 1] for k, scores in enumerate(pair)
    ]
    best, error = 0.0, 1e-6 / (2 * 100)
    for edge in np.unique(np.quantile(np.concatenate(told), np.linspace(0.01, 0.99, 25))):
        for above in (True, False):
            counts = [int((one > edge).sum() if above else (one <= edge).sum()) for one in told]
            for a, b in (counts, counts[::-1]):
                low = stats.beta.ppf(error, a, draws - a + 1) if a else 0.0
                high = stats.beta.ppf(1 - error, b + 1, draws - b)
                best = max(best, math.log(low / high) if low > 0 else 0.0)
    return best


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(
    ("options", "pair", "reached"),
    [
        ({}, ([1.0, 0.0], [0.0, 1.0]), 0.9),
        ({"prior": RARE}, ([0.999, 0.001], [0.5, 0.5]), 0.9),
        ({"positive": 1}, ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]), 0.9),
        ({}, ([0.5, 0.0, 0.5], [0.0, 1.0, 0.0]), 0.4),
    ],
)
def test_measured_epsilon_never_exceeds_the_stated_one(epsilon, options, pair, reached):
    found = measured_epsilon(privee.RecordOrder(epsilon, **options), pair)
    assert found <= epsilon
    assert found > reached * epsilon  # the test has teeth: the bound is nearly reached


def test_more_than_is_promised_is_noticed(monkeypatch):
    honest = record_order.word_shares
    monkeypatch.setattr(record_order, "word_shares", lambda epsilon, width: honest(2 * epsilon, width))
    record_order._public.cache_clear()
    try:
        assert measured_epsilon(privee.RecordOrder(2.0), ([1.0, 0.0], [0.0, 1.0])) > 2.0
    finally:
        record_order._public.cache_clear()


# How well records are ordered.


def ordered_dp_of_a_flipped_class(epsilon: float, share: float, scores: np.ndarray) -> np.ndarray:
    """The same promise made with ordered-dp: the class by randomised response, magnitudes with what that leaves."""
    draws = privee.seeded(1, "class")
    flip = draws.uniform(len(scores)) < 1 / (1 + math.exp(share * epsilon))
    flipped = np.where(flip[:, None], scores[:, ::-1], scores)
    return privee.OrderedDP.fitted((1 - share) * epsilon, scores[::40]).release(flipped, draws=privee.seeded(1))


@pytest.mark.parametrize("kind", ["even", "credit", "rare", "two heaps"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_records_are_ordered_better_than_by_ordered_dp_with_the_same_promise(kind, epsilon):
    """20,000 records; draws are seeded, so it passes or fails for good."""
    scores, labels = drawn(kind)
    ours = auc(privee.RecordOrder.fitted(epsilon, scores[::40]).release(scores, draws=privee.seeded(1)), labels)
    for share in (0.25, 0.5, 0.75):
        assert ours > auc(ordered_dp_of_a_flipped_class(epsilon, share, scores), labels)


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [
        ("credit", 4.0),
        ("rare", 4.0),
        *((kind, e) for kind in ("even", "credit", "rare", "two heaps") for e in (8.0, 16.0)),
    ],
)
def test_from_some_epsilon_on_also_better_than_ordered_dp_that_shows_the_class(kind, epsilon):
    """Below, the exact class alone says more than either: that is what is not given away here."""
    scores, labels = drawn(kind)
    ours, theirs = privee.RecordOrder.fitted(epsilon, scores[::40]), privee.OrderedDP.fitted(epsilon, scores[::40])
    found = [auc(defense.release(scores, draws=privee.seeded(1)), labels) for defense in (ours, theirs)]
    assert found[0] > found[1]


@pytest.mark.parametrize("kind", ["even", "credit", "rare", "two heaps"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_records_are_ordered_better_than_by_gaussian_noise_at_equal_epsilon(kind, epsilon):
    """With noise for any two score vectors, as here; and even where that noise has a delta that this has not."""
    scores, labels = drawn(kind)
    noise = privee.GaussianNoise(epsilon, sensitivity=math.sqrt(2.0))
    found = [
        auc(defense.release(scores, draws=privee.seeded(1)), labels)
        for defense in (privee.RecordOrder.fitted(epsilon, scores[::40]), noise)
    ]
    assert found[0] > found[1] + 0.02


@pytest.mark.parametrize("kind", ["even", "credit", "rare", "two heaps"])
def test_the_order_grows_with_epsilon_up_to_the_scores_own(kind):
    scores, labels = drawn(kind)
    found = [
        auc(privee.RecordOrder.fitted(epsilon, scores[::40]).release(scores, draws=privee.seeded(2)), labels)
        for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    ]
    assert (np.diff(found) > 0).all()
    assert found[-1] == pytest.approx(auc(scores, labels), abs=0.002)


def test_what_the_guarantee_says_of_the_order_is_so():
    """Scores drawn from the prior; 20,000 records leave a standard error below 0.004 in each figure."""
    scores, labels = drawn("rare")
    defense = privee.RecordOrder(4.0, prior=(12.0, 0.5))
    release = defense.release(scores, draws=privee.seeded(1))
    said = defense.guarantee(2).figures
    assert auc(release, labels) == pytest.approx(said["auc"], abs=0.025)  # 800 records have the label
    assert stats.kendalltau(scores[:, 1], release[:, 1], variant="b").statistic == pytest.approx(
        said["kendall"] / math.sqrt(1 - np.square(np.unique(release[:, 1], return_counts=True)[1] / 20_000).sum()),
        abs=0.02,
    )
    even, _ = drawn("even")
    defense = privee.RecordOrder(2.0, prior=(1.0, 1.0))
    changed = (defense.release(even, draws=privee.seeded(1)).argmax(axis=1) != even.argmax(axis=1)).mean()
    assert changed == pytest.approx(defense.guarantee(2).figures["class_changed"], abs=0.015)
    assert f"{changed:.0%}"[0] == defense.guarantee(2).not_covered[1].split("about ")[1][0]


@pytest.mark.parametrize("kind", ["even", "credit", "rare", "two heaps"])
def test_a_released_score_means_what_it_says(kind):
    """Mean of the scores behind each tenth of releases: the public inverse is the release itself."""
    scores, _ = drawn(kind)
    defense = privee.RecordOrder.fitted(4.0, scores[::20])
    release = defense.release(scores, draws=privee.seeded(1))
    parts = np.array_split(np.argsort(release[:, 1], kind="stable"), 10)
    gaps = [abs(release[part, 1].mean() - scores[part, 1].mean()) for part in parts]
    assert np.mean(gaps) < 0.02
    assert (defense.estimate_scores(release) == release).all()


def test_learning_the_prior_helps_where_scores_lie_in_a_corner():
    scores, labels = drawn("rare")
    learned, flat = privee.RecordOrder.fitted(2.0, scores[::40]), privee.RecordOrder(2.0)
    found = [auc(defense.release(scores, draws=privee.seeded(1)), labels) for defense in (learned, flat)]
    assert found[0] > found[1] + 0.08
    assert learned.prior == pytest.approx((12.0, 0.5), rel=0.3)
    assert fit_prior(np.tile([0.7, 0.3], (5, 1)), np.array([1])) == (7000.0, 3000.0)
    assert privee.RecordOrder.fitted(1.0, np.eye(2)).release(np.eye(2)).shape == (2, 2)


def test_with_three_classes_each_orders_records_and_one_alone_more():
    scores = softmax_rows(4000, 3, 2.0)
    every = privee.RecordOrder.fitted(6.0, scores)
    release = every.release(scores, draws=privee.seeded(1))
    kept = [stats.kendalltau(scores[:, k], release[:, k]).statistic for k in range(3)]
    assert min(kept) > 0.35
    one = privee.RecordOrder.fitted(6.0, scores, positive=2)
    alone = one.release(scores, draws=privee.seeded(1))
    assert stats.kendalltau(scores[:, 2], alone[:, 2]).statistic > kept[2] + 0.25
    share = one.prior[0] / (one.prior[0] + one.prior[1])
    np.testing.assert_allclose(alone[:, 0], share * (1 - alone[:, 2]))


# What a release looks like.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"positive": 0}])
@pytest.mark.parametrize("classes", [2, 3, 1000])
@pytest.mark.parametrize("epsilon", [0.001, 4.0, 100.0])
def test_releases_are_probability_vectors(dtype, options, classes, epsilon):
    tiny = np.finfo(dtype).smallest_subnormal
    saturated = np.eye(classes, dtype=dtype)[:3]
    scores = np.concatenate([softmax_rows(50, classes, 40.0).astype(dtype), saturated, saturated + tiny])
    release = privee.RecordOrder(epsilon, **options).release(scores)
    assert release.dtype == dtype
    assert (release >= 0).all()
    np.testing.assert_allclose(release.sum(axis=1, dtype=np.float64), 1, atol=1e-5)


def test_two_classes_are_one_number():
    scores, _ = drawn("credit", 500)
    defense = privee.RecordOrder(4.0)
    release = defense.release(scores, draws=privee.seeded(1))
    assert (release[:, 0] == 1 - release[:, 1]).all()
    same = privee.RecordOrder(4.0, positive=1).release(scores, draws=privee.seeded(1))
    assert (same == release).all()
    assert len(np.unique(release[:, 1])) <= CELLS


def test_rows_that_do_not_sum_to_one_count_as_shares():
    defense = privee.RecordOrder(4.0)
    found = [
        defense.release(times * np.array([[0.3, 0.7], [0.9, 0.1]]), draws=privee.seeded(1), check_sum=False)
        for times in (1, 8)
    ]
    assert (found[0] == found[1]).all()
    assert np.isfinite(defense.release(np.zeros((2, 2)), check_sum=False)).all()


def test_guarantee_is_for_any_two_score_vectors_and_says_what_is_not_covered():
    said = privee.RecordOrder(4.0).guarantee(2)
    assert (said.epsilon, said.delta, said.same) == (4.0, 0.0, "any two score vectors")
    assert "T fresh releases cost T times epsilon" in said.not_covered
    assert "predicted class can change (in about" in said.not_covered[1]
    assert said.assumptions == ()
    assert privee.RecordOrder(4.0, prior=RARE).guarantee(2).assumptions
    assert "promises little" in privee.RecordOrder(16.0).guarantee(2).not_covered[-1]
    learned = privee.RecordOrder.fitted(4.0, softmax_rows(50, 3), positive=1)
    assert learned.learned_by == "privee.RecordOrder.fitted(4, public_scores, positive=1)"
    assert privee.defense(learned.spec) == learned
    assert privee.defense(**learned.settings()) == learned


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: privee.RecordOrder(0), "epsilon must be a number above 0"),
        (lambda: privee.RecordOrder(1e-4), "0.001 or more"),
        (lambda: privee.RecordOrder(1.0, positive=-1), "positive must be a whole number"),
        (lambda: privee.RecordOrder(1.0, positive=True), "positive must be a whole number"),
        (lambda: privee.RecordOrder(1.0, prior=(1.0,)), "one number for each class"),
        (lambda: privee.RecordOrder(1.0, prior=0.5), "one number for each class"),
        (lambda: privee.RecordOrder(1.0, prior=(1.0, 0)), "prior of class 1 must be a number above 0"),
        (lambda: privee.RecordOrder(1.0, prior=(1.0, 1e9)), "between 0.001 and 1e\\+06"),
        (lambda: privee.RecordOrder(1.0, positive=2).release([0.5, 0.5]), "classes go from 0 to 1"),
        (lambda: privee.RecordOrder(1.0, prior=(1.0, 1.0)).release([0.5, 0.25, 0.25]), "prior is for 2 classes"),
        (lambda: privee.RecordOrder.fitted(1.0, softmax_rows(9, 3), positive=3), "classes go from 0 to 2"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(privee.SettingError, match=message):
        make()


def test_invalid_scores_are_refused():
    with pytest.raises(privee.ScoreError, match="negative"):
        privee.RecordOrder(1.0).release([-0.5, 1.5])
    with pytest.raises(privee.ScoreError):
        privee.RecordOrder.fitted(1.0, [[0.5, 0.6]])
