"""Tasks that need calibrated scores."""

import dataclasses

import numpy as np
import pytest

from privee.defenses import defense
from privee.paper import Bench
from privee.paper.printed import PRINTED_AS, PRIVEE_U, PRIVEE_U_PLUS
from privee.paper.results import calibrated_tasks
from privee.paper.results.calibrated_tasks import (
    FRACTIONS,
    READINGS,
    CalibratedTasks,
    TaskData,
    as_it_stands,
    distil,
    read,
    student_accuracy,
    task_data,
    task_rows,
)
from privee.randomness import seeded
from privee.scores.calibration import calibration_error
from tests._support.scores import softmax_rows

NOISY = "gaussian:epsilon=0.5"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> TaskData:
    return task_data(Bench("quick", tmp_path_factory.mktemp("paper") / "runs", jobs=1), "digits")


@pytest.fixture(scope="module")
def rows(data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrated_tasks, "STEPS", 100)
        return task_rows(data, ("none", NOISY, PRIVEE_U, "ranking-only"), seeds=2)


def one(rows, spec, reading=READINGS[0]):
    (found,) = [row for row in rows if (row.where["defense"], row.where["reading"]) == (spec, reading)]
    return found.measured


def test_a_release_as_it_stands_is_a_probability_vector():
    found = as_it_stands(np.array([[3.0, -0.5, 1.0], [-0.2, -0.3, -0.1], [0.25, 0.25, 0.5]]))
    assert found.tolist() == [[0.75, 0.0, 0.25], [1 / 3, 1 / 3, 1 / 3], [0.25, 0.25, 0.5]]


@pytest.mark.parametrize("spec", PRINTED_AS)
def test_both_readings_of_every_defense_are_probabilities(spec):
    scores, chosen = softmax_rows(40, 5), defense(spec)
    release = chosen.release(scores, draws=seeded(1))
    for reading in READINGS:
        found = read(release, chosen, reading)
        assert found.min() >= 0
        assert np.allclose(found.sum(axis=1), 1.0)
        if chosen.preserves_order and reading == READINGS[0]:  # an estimate need not keep the order
            assert (found.argmax(axis=1) == scores.argmax(axis=1)).all()


def test_readings_differ_where_magnitudes_moved():
    scores, chosen = softmax_rows(200, 5, 1.0), defense(PRIVEE_U)
    release = chosen.release(scores, draws=seeded(1))
    naive, undone = (np.abs(read(release, chosen, reading) - scores).mean() for reading in READINGS)
    assert undone < naive / 5


def test_a_student_learns_what_it_is_taught(data):
    taught = student_accuracy(distil(data.own_train, data.train, 0), data.own_test, data.test_labels)
    assert taught > 75  # half of each picture
    order = np.argsort(seeded(0, "wrong").words(len(data.train)))
    confused = student_accuracy(distil(data.own_train, data.train[order], 0), data.own_test, data.test_labels)
    assert confused < 25  # ten classes


def test_the_same_seed_gives_the_same_student(data, monkeypatch):
    monkeypatch.setattr(calibrated_tasks, "STEPS", 20)
    first, again, other = (distil(data.own_train, data.train, seed)[0].weight for seed in (0, 0, 1))
    assert first.equal(again)
    assert not first.equal(other)


def test_the_data_are_the_active_partys_columns_and_three_models(data):
    assert data.own_train.shape[1] == 32
    assert len(data.own_train) == len(data.train)
    assert len(data.members) == len(FRACTIONS)
    assert np.array_equal(data.members[1], data.test)
    assert not any(np.allclose(data.members[0], other) for other in data.members[1:])
    for scores in data.members:  # rows of all models are in one order
        assert (scores.argmax(axis=1) == data.test_labels).mean() > 0.9
    nearest = ((data.own_test[:50, None] - data.own_train[None]) ** 2).sum(axis=2).argmin(axis=1)
    same = data.train[nearest].argmax(axis=1) == data.test_labels[:50]
    assert same.mean() > 0.6  # columns and scores are in one order


def test_scores_themselves_change_nothing(rows, data):
    measured = one(rows, "none")
    assert measured["calibration_error"].value == pytest.approx(calibration_error(data.test, data.test_labels))
    for change in ("student_change", "ensemble_change"):
        assert (measured[change].value, measured[change].low, measured[change].high) == (0.0, 0.0, 0.0)
    together = np.mean(data.members, axis=0).argmax(axis=1) == data.test_labels
    assert measured["ensemble_accuracy"].value == pytest.approx(100 * together.mean())


def test_noise_costs_accuracy_and_the_ranking_alone_costs_calibration(rows):
    for reading in READINGS:
        noisy = one(rows, NOISY, reading)
        assert noisy["ensemble_change"].high < -10
        assert noisy["student_accuracy"].value == pytest.approx(
            noisy["student_change"].value + one(rows, "none")["student_accuracy"].value
        )
        assert one(rows, "ranking-only", reading)["calibration_error"].low > 0.3
    assert (
        abs(one(rows, PRIVEE_U, "inverse")["calibration_error"].value - one(rows, "none")["calibration_error"].value)
        < 0.01
    )


def test_members_have_draws_of_their_own(data, monkeypatch):
    """Averaging three equal models behind independent noise helps; with shared draws it would not."""
    monkeypatch.setattr(calibrated_tasks, "STEPS", 1)
    alike = dataclasses.replace(data, members=(data.test,) * 3)
    alone = dataclasses.replace(alike, members=(data.test,))
    many, single = (one(task_rows(some, (NOISY,), seeds=2), NOISY)["ensemble_accuracy"] for some in (alike, alone))
    assert many.value > single.value + 5


def test_the_account_speaks_of_privee(rows):
    account = CalibratedTasks().account(rows)
    assert account.agrees is None
    scores = one(rows, "none")["calibration_error"].value
    assert f"calibration error {scores:.3g} of scores" in account.measured
    as_plus = [row for row in rows if row.where["defense"] == "ranking-only"]
    as_plus = [dataclasses.replace(row, where={**row.where, "defense": PRIVEE_U_PLUS}) for row in as_plus]
    least, most = (one(rows, spec)["calibration_error"].value for spec in (PRIVEE_U, "ranking-only"))
    both = CalibratedTasks().account([*rows, *as_plus]).measured
    assert f"{least:.3g} to {most:.3g} of PRIVEE releases as they stand" in both
