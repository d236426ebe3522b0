"""What one release tells: pairs that it proves, and what its magnitudes are worth."""

import pytest
import torch

import privee
from privee.attacks.chosen.answers import Answer, Limits, answer_of
from tests._support.asked_records import small_records

SHARP = Limits()


def read(spec: str, kind: str = "logistic") -> tuple[Answer, torch.Tensor]:
    """The answer to one honest question, and the true logits."""
    records = small_records(kind, rows=12)
    view = records.view(spec)
    release = view.oracle(records.own)
    random = torch.Generator().manual_seed(5)
    points = torch.rand(12, 240, 3, generator=random, dtype=torch.float64)
    believed = records.model.logits_at(records.own, points)
    truth = records.model.logits(records.own, records.truth)
    return answer_of(view, records.own, release, believed, 0, SHARP), truth


def pairs_of(*scores: float, spec: str) -> list[tuple[int, int]]:
    """Of one release of these scores: the pairs (above, below) that it proves."""
    records = small_records(rows=1)
    view = records.view(spec)
    release = torch.from_numpy(privee.defense(spec).release(torch.tensor([scores]).double().numpy()))
    found = answer_of(view, records.own, release, torch.zeros(1, 192, 4).double(), 0, SHARP)
    there = found.shown[0]
    return list(zip(found.above[0, there].tolist(), found.below[0, there].tolist(), strict=True))


def test_pairs_of_a_ranking_are_a_chain():
    assert pairs_of(0.1, 0.4, 0.2, 0.3, spec="ranking-only") == [(1, 3), (3, 2), (2, 0)]


def test_pairs_of_a_label_are_its_class_above_each_other():
    assert sorted(pairs_of(0.1, 0.4, 0.2, 0.3, spec="label-only")) == [(1, 0), (1, 2), (1, 3)]


def test_pairs_of_two_leading_classes_leave_the_rest_open():
    for spec in ("ordered-dp:epsilon=2,keep_top=2", "top-k:k=2"):
        assert sorted(pairs_of(0.1, 0.4, 0.2, 0.3, spec=spec)) == [(1, 3), (3, 0), (3, 2)]


def test_pairs_of_rounded_scores_skip_ties():
    """0.40, 0.31, 0.29 at one digit: the last two are equal; what is below both has one above it."""
    assert sorted(pairs_of(0.40, 0.31, 0.29, 0.0, spec="rounding:digits=1")) == [(0, 1), (0, 2), (2, 3)]
    assert pairs_of(0.25, 0.25, 0.25, 0.25, spec="rounding:digits=0") == []


def test_noise_that_changes_the_ranking_proves_nothing():
    assert pairs_of(0.1, 0.4, 0.2, 0.3, spec="gaussian:epsilon=0.5") == []


@pytest.mark.parametrize("spec", ["none", "ranking-only", "label-only", "privee-u:rho=0.1", "rounding:digits=1"])
def test_what_is_proven_is_true(spec):
    answer, truth = read(spec)
    assert answer.shown.any(dim=1).all()
    assert (answer.gaps(truth)[answer.shown] >= 0).all()
    assert torch.equal(answer.gaps(truth[:, None].expand(-1, 2, -1))[:, 1], answer.gaps(truth))


def precision_of(spec: str) -> tuple[float, float, int]:
    """The largest precision, the share of rows with any, and how many sums carry half of the largest or more."""
    reading = read(spec)[0].reading
    if reading is None:
        return 0.0, 0.0, 0
    largest = reading.precision.amax(dim=1)
    return float(largest.median()), float((largest > 0).double().mean()), int((reading.precision > 0).sum(dim=1).max())


def test_magnitudes_of_a_ranking_say_nothing_and_those_of_scores_everything():
    exact, everywhere, sums = precision_of("none")
    assert exact > 1e8
    assert everywhere == 1.0
    assert sums == 3
    assert read("ranking-only")[0].reading is None
    assert read("label-only")[0].reading is None


def test_what_chance_explains_is_not_believed():
    """At epsilon 0.001 magnitudes are noise: correlations that 240 points have by chance are left out."""
    nothing, some, _ = precision_of("ordered-dp:epsilon=0.001")
    assert nothing == 0.0
    assert some < 0.2


def test_ordered_dp_is_in_between_and_its_one_draw_is_counted_once():
    """Noise on the top score alone moves all gaps together: they tell one sum, not three."""
    weak, _, _ = precision_of("ordered-dp:epsilon=1")
    strong, everywhere, sums = precision_of("ordered-dp:epsilon=64")
    assert weak < strong < 1e5
    assert everywhere > 0.8
    assert strong > 0.2
    assert sums <= 2


def test_values_are_right_where_they_are_exact():
    answer, truth = read("temperature:temperature=2")
    assert answer.reading is not None
    sums = answer.reading.sums(truth[:, None])[:, 0]
    sure = answer.reading.precision > 1e8
    assert sure.any(dim=1).all()
    assert torch.allclose(sums[sure], answer.reading.value[sure], atol=1e-5)


def test_limits_bound_what_is_taken_for_known():
    records = small_records(rows=4)
    view = records.view("none")
    points = torch.rand(4, 240, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    believed = records.model.logits_at(records.own, points)
    release = view.oracle(records.own)
    dull = answer_of(view, records.own, release, believed, 0, Limits(share=0.04)).reading
    assert dull is not None
    assert dull.precision.max() <= 25 + 1e-9
