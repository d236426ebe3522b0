"""What scores and releases are good for, against scikit-learn and by hand."""

import numpy as np
import pytest

import privee
from privee.scores import Utility, calibration_error, majority_of, order_between, utility_of
from privee.scores.utility import ORDER_ROWS


def tied(rows: int, classes: int, dtype: type, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities in steps of 1/16, exact in float32, so that many are equal; labels that follow them a little."""
    draws = np.random.default_rng(seed)
    scores = draws.multinomial(16, np.full(classes, 1 / classes), size=rows) / 16
    labels = np.array([draws.choice(classes, p=row) for row in scores])
    return scores.astype(dtype), labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_two_classes_are_measured_as_by_scikit_learn(dtype, seed):
    metrics = pytest.importorskip("sklearn.metrics")

    scores, labels = tied(200, 2, dtype, seed)
    found, named, positive = utility_of(scores, labels), scores.argmax(axis=1), scores[:, 1]
    measured = {name: value for name, value in found.as_dict().items() if name != "calibration_error"}
    assert measured == pytest.approx(
        {
            "rows": 200,
            "accuracy": metrics.accuracy_score(labels, named),
            "balanced_accuracy": metrics.balanced_accuracy_score(labels, named),
            "f1": metrics.f1_score(labels, named),
            "auc": metrics.roc_auc_score(labels, positive),
            "average_precision": metrics.average_precision_score(labels, positive),
            "brier": metrics.brier_score_loss(labels, positive),
        },
        rel=1e-12,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [3, 8])
def test_more_classes_are_averaged_over_those_that_occur(dtype, classes):
    metrics = pytest.importorskip("sklearn.metrics")

    scores, labels = tied(300, classes, dtype, seed=1)
    keep = labels != 1
    scores, labels = scores[keep], labels[keep]
    found, named, present = utility_of(scores, labels), scores.argmax(axis=1), np.unique(labels)
    one = [(labels == k, scores[:, k]) for k in present]
    assert found.accuracy == pytest.approx(metrics.accuracy_score(labels, named))
    assert found.balanced_accuracy == pytest.approx(np.mean([(named == k)[labels == k].mean() for k in present]))
    assert found.f1 == pytest.approx(metrics.f1_score(labels, named, labels=present, average="macro"))
    assert found.auc == pytest.approx(np.mean([metrics.roc_auc_score(*pair) for pair in one]))
    assert found.average_precision == pytest.approx(np.mean([metrics.average_precision_score(*pair) for pair in one]))
    assert found.brier == pytest.approx(((scores - np.eye(classes)[labels]) ** 2).sum(axis=1).mean())


def test_by_hand():
    scores = [[0.9, 0.1], [0.6, 0.4], [0.6, 0.4], [0.2, 0.8]]
    found = utility_of(scores, [0, 0, 1, 1])
    assert (found.accuracy, found.balanced_accuracy, found.f1) == (0.75, 0.75, pytest.approx(2 / 3))
    assert found.auc == 3.5 / 4  # four pairs, one of them tied
    assert found.average_precision == pytest.approx((1 + 2 / 3) / 2)
    assert found.brier == pytest.approx((0.1**2 + 0.4**2 + 0.6**2 + 0.2**2) / 4)
    assert found.calibration_error == pytest.approx((0.1 + abs(2 * 0.4 - 1) + 0.2) / 4)


@pytest.mark.parametrize("rows", [7, 100, 101])
def test_without_ties_the_calibration_error_is_the_usual_one(rows):
    scores = np.random.default_rng(5).dirichlet(np.ones(3), size=rows)
    labels = np.arange(rows) % 3
    assert utility_of(scores, labels).calibration_error == pytest.approx(calibration_error(scores, labels))


def test_a_release_that_is_no_probability_is_ordered_by_the_difference():
    labels = [0, 1, 1, 0]
    shifted = np.array([[3.0, 2.0], [-2.0, -1.0], [0.0, 5.0], [9.0, 8.5]])
    found = utility_of(shifted, labels)
    assert found.auc == 1.0
    assert utility_of(shifted[:, ::-1], labels).auc == 0.0
    assert found.brier is None
    assert found.calibration_error is None
    for bad in ([[0.5, 0.6]] * 4, [[1.5, -0.5]] * 4):
        assert utility_of(bad, labels).brier is None


def test_what_cannot_be_said_is_none():
    one_class = utility_of([[0.4, 0.6]] * 3, [1, 1, 1])
    assert one_class == Utility(rows=3, accuracy=1.0, brier=pytest.approx(0.16), calibration_error=pytest.approx(0.4))
    assert utility_of(np.zeros((0, 3)), np.zeros(0, dtype=int)) == Utility(rows=0)
    for labels in ([0, 1], [0, 1, 2], [0, 1, -1], [0.0, 1.0, 0.0]):
        with pytest.raises(privee.ScoreError, match="label"):
            utility_of([[0.4, 0.6]] * 3, labels)
    with pytest.raises(privee.ScoreError, match="finite"):
        utility_of([[np.nan, 0.6]], [0])


def test_the_majority_class_is_calibrated_and_orders_nothing():
    found = majority_of([0] * 70 + [1] * 30, 2)
    assert found == Utility(
        rows=100,
        accuracy=0.7,
        balanced_accuracy=0.5,
        f1=0.0,
        auc=0.5,
        average_precision=pytest.approx(0.3),
        brier=pytest.approx(0.21),
        calibration_error=pytest.approx(0.0, abs=1e-12),
    )
    assert majority_of([2, 2, 0], 4).accuracy == pytest.approx(2 / 3)
    assert majority_of([], 4) == Utility(rows=0)


def test_order_between_is_kendalls_tau_of_the_positive_class():
    scores = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    assert order_between(scores, scores) == pytest.approx(1.0)
    assert order_between(scores, scores[:, ::-1]) == pytest.approx(-1.0)
    assert order_between(scores, scores[[1, 0, 2, 3]]) == pytest.approx(4 / 6)
    # 6 pairs of scores, of which a two-step release ties 2 and keeps 4: tau-b = 4 / sqrt(6 * 4)
    assert order_between(scores, np.round([[1, 0], [1, 0], [0, 1], [0, 1]])) == pytest.approx(4 / 24**0.5)
    assert order_between(scores, [[0.5, 0.5]] * 4) == 0.0
    assert order_between(scores[:1], scores[:1]) == 0.0
    # both rise, the difference does not
    assert order_between(scores, [[0, 1], [9, 2], [20, 3], [30, 4]]) == pytest.approx(-1.0)
    with pytest.raises(privee.ScoreError, match="alike"):
        order_between(scores, scores[:2])


def test_order_between_is_averaged_over_classes_and_over_all_the_rows():
    draws = np.random.default_rng(0)
    scores = draws.dirichlet(np.ones(3), size=3 * ORDER_ROWS).astype(np.float32)
    one_turned = scores * np.array([1, 1, -1], dtype=np.float32)
    assert order_between(scores, one_turned) == pytest.approx(1 / 3)
    half_kept = np.where(np.arange(len(scores))[:, None] < len(scores) // 2, scores, scores.mean(axis=0))
    assert 0.3 < order_between(scores, half_kept) < 0.8
    fixed = np.column_stack([np.full(4, 0.2), [0.1, 0.2, 0.3, 0.4], [0.7, 0.6, 0.5, 0.4]])
    assert order_between(fixed, fixed) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("spec", "least", "most"), [("none", 1.0, 1.0), ("privee-u:rho=0.1", 0.3, 0.8), ("ranking-only", -0.06, 0.06)]
)
def test_a_ranking_kept_in_every_record_may_lose_the_order_between_them(spec, least, most):
    positive = np.random.default_rng(1).uniform(
        0.0, 0.5, size=2000
    )  # tau of chance: within 0.015, four times that is fine
    scores = np.column_stack([1 - positive, positive])
    release = privee.defense(spec).release(scores, draws=privee.seeded(1))
    assert privee.theory.order_is_kept(scores, release)
    assert least <= order_between(scores, release) <= most
