"""MemGuard: its classifier, the search, the coin, and what it leaves as it is."""

import json

import numpy as np
import pytest

import privee
from privee.defenses import memguard
from privee.defenses.member_classifier import MEMBERS, OTHERS, default_classifier
from privee.defenses.memguard import PRICES, STEP, _slope, noisy_scores
from privee.defenses.memguard_inverse import MOST_CLASSES
from privee.defenses.small_nets import log_scores, softmax, synthetic_scores
from tests._support.scores import softmax_rows

SURE = np.array([[1e-6, 1 - 1e-6]])


def public(spread: float, count: int = 300, classes: int = 10) -> np.ndarray:
    return synthetic_scores(count, classes, spread, privee.seeded(7, str(spread)))


@pytest.mark.parametrize(("classes", "least"), [(2, 0.65), (10, 0.9), (100, 0.9)])
def test_the_classifier_tells_confident_scores_from_doubtful_ones(classes, least):
    h = default_classifier(classes)
    members, others = (h(log_scores(public(spread, classes=classes))) > 0 for spread in (MEMBERS, OTHERS))
    assert (members.mean() + 1 - others.mean()) / 2 > least


def test_its_slope_is_that_of_its_output():
    h, logits = default_classifier(6), log_scores(softmax_rows(20, 6))
    value, slope = h.with_slope(logits)
    np.testing.assert_allclose(value, h(logits), atol=1e-12)
    for k in range(6):
        moved = logits.copy()
        moved[:, k] += 1e-6
        np.testing.assert_allclose((h(moved) - value) / 1e-6, slope[:, k], atol=1e-4)
    assert (np.linalg.norm(slope, axis=1) <= h.steepest).all()


def test_the_slope_of_the_search_is_that_of_what_it_lowers():
    h, scores = default_classifier(5), softmax_rows(30, 5)
    rng = np.random.default_rng(0)
    logits, top = log_scores(scores) + rng.normal(size=scores.shape), scores.argmax(axis=1)
    price = rng.choice(PRICES[:3], 30)

    def lowered(at: np.ndarray) -> np.ndarray:
        wrong = np.where(np.arange(5) == top[:, None], -np.inf, at).max(axis=1)
        behind = np.maximum(wrong - at[np.arange(30), top], 0)
        return np.abs(h(at)) + 10 * behind + price * np.abs(softmax(at) - scores).sum(axis=1)

    slope = _slope(*h.with_slope(logits), logits, scores, top, price)
    for k in range(5):
        up, down = logits.copy(), logits.copy()
        up[:, k] += 1e-6
        down[:, k] -= 1e-6
        np.testing.assert_allclose((lowered(up) - lowered(down)) / 2e-6, slope[:, k], atol=1e-3)


@pytest.mark.parametrize("spread", [OTHERS, MEMBERS])
def test_moved_scores_cross_the_boundary_by_less_than_a_step_and_keep_the_class(spread):
    scores, h = public(spread), default_classifier(10)
    moved = noisy_scores(scores, h, 300)
    crossed = (moved != scores).any(axis=1)
    assert crossed.mean() > 0.9
    before, after = h(log_scores(scores)), h(log_scores(moved))
    assert (before * after <= 0)[crossed].all()
    assert np.abs(after[crossed]).max() <= STEP * h.steepest
    assert (moved.argmax(axis=1) == scores.argmax(axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_top_class_stays_bit_for_bit(dtype):
    scores = np.concatenate([softmax_rows(200, 4, 0.001), softmax_rows(100, 4, 9.0), np.eye(4), np.full((5, 4), 0.25)])
    scores = scores.astype(dtype)
    release = privee.MemGuard(budget=2.0).release(scores)
    assert (release.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert (release != scores).any()


def test_the_top_class_stays_where_rounding_would_move_it(monkeypatch):
    """Moved to a tie that only float64 tells apart: in float32 the lower index would lead."""
    tie = np.array([[0.5 - 1e-12, 0.5 + 1e-12]])
    monkeypatch.setattr(memguard, "noisy_scores", lambda scores, classifier, steps: tie)
    assert np.abs(default_classifier(2)(log_scores(tie))) < np.abs(default_classifier(2)(log_scores(SURE)))
    assert privee.MemGuard(budget=2.0).release(SURE).tolist() == tie.tolist()
    assert privee.MemGuard(budget=2.0).release(SURE.astype(np.float32)).argmax() == 1


def test_the_budget_is_kept_on_average_for_every_record():
    """300 releases of 20 flat records; each mean distance is below the budget up to four standard errors."""
    scores = np.random.default_rng(0).dirichlet([1.0] * 10, 20)
    defense = privee.MemGuard(budget=0.2, steps=150)
    moved = np.abs(noisy_scores(scores, defense.classifier(10), 150) - scores).sum(axis=1)
    assert (moved > 0.25).any()  # else the coin would have nothing to do
    releases = defense.release(np.repeat(scores, 300, axis=0), draws=privee.seeded(1)).reshape(20, 300, 10)
    distance = np.abs(releases - scores[:, None]).sum(axis=2)
    assert (distance.mean(axis=1) <= 0.2 + 4 * distance.std(axis=1) / np.sqrt(300)).all()
    assert (distance.mean(axis=1) > 0.1).any()


def test_what_lies_away_from_the_boundary_is_exact_and_known_to_be():
    """Few steps reach little; what is released as it is, is seen to be so, and what was moved is never missed."""
    defense, scores = privee.MemGuard(steps=20), public(MEMBERS)
    release = defense.release(scores, draws=privee.seeded(1))
    moved, suspected = (release != scores).any(axis=1), defense.was_moved(release)
    assert not (moved & ~suspected).any()
    assert 0 < suspected.mean() < 1
    assert defense.was_moved(release[0]) == suspected[0]


def squared_errors(scores: np.ndarray) -> tuple[float, float]:
    """Of releases, and of what they are read as."""
    defense = privee.MemGuard()
    release = defense.release(scores, draws=privee.seeded(3))
    read = defense.estimate_scores(release)
    assert (read >= 0).all()
    np.testing.assert_allclose(read.sum(axis=1), 1)
    exact = ~defense.was_moved(release)
    np.testing.assert_allclose(read[exact], release[exact], atol=1e-12)
    return np.square(release - scores).mean(), np.square(read - scores).mean()


@pytest.mark.parametrize(("classes", "most"), [(3, 0.4), (7, 0.2), (20, 0.2)])
@pytest.mark.parametrize("kind", ["flat", "spread 1"])
def test_doubtful_scores_are_moved_back(classes, most, kind):
    flat = np.random.default_rng(0).dirichlet([1.0] * classes, 150)
    unread, read = squared_errors(flat if kind == "flat" else public(1.0, 150, classes))
    assert read < most * unread


@pytest.mark.parametrize("classes", [3, 7, 20])
@pytest.mark.parametrize("spread", [3.0, 8.0])
def test_scores_of_confident_models_are_left_where_they_are(classes, spread):
    unread, read = squared_errors(public(spread, 150, classes))
    assert read < 1.1 * unread


def test_a_few_releases_alone_can_be_read():
    defense = privee.MemGuard()
    scores = np.random.default_rng(0).dirichlet([1.0] * 20, 3)
    for batch in (scores[:0], scores[:1], scores):
        release = defense.release(batch, draws=privee.seeded(1))
        assert defense.estimate_scores(release).shape == batch.shape
    wide = np.full((1, MOST_CLASSES + 1), 1 / (MOST_CLASSES + 1))
    np.testing.assert_allclose(defense.estimate_scores(wide), wide)


def test_it_can_be_fitted_and_its_settings_are_plain_numbers():
    fitted = privee.MemGuard.fitted(public(6.0, classes=4), public(1.0, classes=4), budget=1.0)
    again = privee.defense(**json.loads(json.dumps(fitted.settings())))
    assert again == fitted
    assert privee.defense(fitted.spec) == fitted
    assert "MemGuard.fitted" in fitted.learned_by
    scores = softmax_rows(20, 4)
    assert (fitted.release(scores, draws=privee.seeded(1)) == again.release(scores, draws=privee.seeded(1))).all()
    h = fitted.classifier(4)
    assert h(log_scores(public(6.0, classes=4))).mean() > h(log_scores(public(1.0, classes=4))).mean()
    with pytest.raises(privee.SettingError, match="with 5 classes there must be 57"):
        fitted.release(softmax_rows(2, 5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: privee.MemGuard(budget=0), "budget must be"),
        (lambda: privee.MemGuard(steps=0), "steps must be a whole number"),
        (lambda: privee.MemGuard(weights=("a",)), "list of numbers"),
        (lambda: privee.MemGuard.fitted(softmax_rows(9, 3), softmax_rows(9, 4)), "same classes"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(privee.SettingError, match=message):
        make()
