"""What each further question can give away: the curve, and its picture."""

import json

import numpy as np
import pytest
import torch

import privee
from privee.audit import subject_from_arrays
from privee.audit.question_curve import estimates_after_each, question_curve, worst_column
from privee.audit.report.question_chart import question_chart, save_question_chart
from privee.data.columns import SourceColumn
from privee.errors import PriveeError, SettingError
from tests._support.own_models import PASSIVE, columns, numpy_logits

RANKING = privee.defense("ranking-only")


@pytest.fixture(scope="module")
def subject():
    return subject_from_arrays(numpy_logits, *columns(400), outputs="logits")


@pytest.fixture(scope="module")
def curve(subject):
    return question_curve(subject, RANKING, (5, 1, 2), records=20, auxiliary_rows=150)


def test_every_further_question_leaves_less(curve):
    assert curve.questions == (1, 2, 5)
    assert curve.left[0] > curve.left[1] > curve.left[2]
    assert curve.left[2] < 0.1
    assert curve.errors == pytest.approx([share * curve.guess_error for share in curve.left])
    assert (curve.records, curve.defense, curve.seed) == (20, "ranking-only", 0)


def test_the_worst_column_has_a_name_and_less_left_than_the_mean(curve):
    assert all(worst.left <= left for worst, left in zip(curve.worst, curve.left, strict=True))
    assert {(one.name, one.party) for one in curve.worst} <= {(f"passive {k + 1}", "passive") for k in range(PASSIVE)}


def test_errors_are_those_of_the_attack_against_the_truth(subject, curve):
    sample = subject.sample(0, 20, 150)
    estimates = estimates_after_each(sample, RANKING, 5, 0)
    assert [float((estimates[k] - sample.truth).square().mean()) for k in (1, 2, 5)] == pytest.approx(curve.errors)


def test_a_release_that_hides_the_scores_leaves_the_guess(subject):
    hidden = question_curve(subject, privee.defense("gaussian:epsilon=0.01"), (3,), records=20)
    assert 0.8 < hidden.left[0] <= 1


def test_the_attack_leaves_threads_and_chance_as_they_were(subject):
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    question_curve(subject, RANKING, (1,), records=4)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_a_category_counts_as_one_column_and_what_is_known_anyway_is_never_the_worst():
    described = [
        SourceColumn(name="fixed", party="shop", kind="number", places=(0,)),
        SourceColumn(name="job", party="shop", kind="category", places=(1, 2)),
        SourceColumn(name="age", party="bank", kind="number", places=(3,)),
    ]
    guessed = torch.tensor([1e-6, 0.2, 0.2, 0.1], dtype=torch.float64)
    worst = worst_column(torch.tensor([0.0, 0.0, 0.2, 0.02], dtype=torch.float64), guessed, described)
    assert (worst.name, worst.party) == ("age", "bank")
    assert worst.left == pytest.approx(0.2)
    worst = worst_column(torch.tensor([0.0, 0.0, 0.02, 0.02], dtype=torch.float64), guessed, described)
    assert (worst.name, worst.left) == ("job", pytest.approx(0.05))
    assert worst_column(2 * guessed, guessed, described).left == 1.0  # who does worse keeps the guess
    nothing = torch.zeros(4, dtype=torch.float64)
    assert worst_column(nothing, nothing, described).left == 1.0  # known without asking, so nothing is given away


@pytest.mark.parametrize("counts", [(), (0,), (1, -2), (1.5,), (True,)])
def test_numbers_that_are_none_are_refused(subject, counts):
    with pytest.raises(SettingError, match="numbers of questions"):
        question_curve(subject, RANKING, counts)


def test_as_json_and_as_a_picture(curve, tmp_path):
    found = json.loads(json.dumps(curve.as_dict()))
    assert [point["questions"] for point in found["curve"]] == [1, 2, 5]
    assert found["curve"][2]["worst"]["name"] == curve.worst[2].name
    drawn = question_chart(curve, "asked")
    assert drawn.startswith("<svg")
    assert curve.worst[2].name in drawn
    for name, start in (("curve.png", b"\x89PNG"), ("curve.svg", b"<?xml")):
        save_question_chart(curve, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(PriveeError, match="exists already"):
        save_question_chart(curve, tmp_path / "curve.png")


def test_without_auxiliary_rows_the_guess_is_the_middle(subject):
    alone = question_curve(subject, RANKING, (2,), records=10, auxiliary_rows=0)
    truth = subject.sample(0, 10, 0).truth
    assert alone.auxiliary_rows == 0
    assert alone.guess_error <= float((truth - 0.5).square().mean()) + 1e-12
    assert np.isfinite(alone.errors[0])
