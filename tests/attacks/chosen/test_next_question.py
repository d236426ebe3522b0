"""Questions that tell most: classes equal where the truth is expected."""

import pytest
import torch

from privee.attacks.chosen.next_question import best_row, by_descent, by_trial, equal_logits, unevenness
from tests._support.asked_records import small_records


@pytest.fixture
def records():
    return small_records(rows=8)


def test_equal_logits_are_equal_where_own_columns_can_make_them_so(records):
    """Here some own columns can: those for which the unknown ones were made. Elsewhere they come closer."""
    model = records.model
    wanted = torch.tensor([0.4, 0.3, 0.2, 0.1]).double().log()
    inside = model.own_linear @ torch.full((6,), 0.5).double()  # what half of all columns gives
    unknown = torch.linalg.lstsq(model.linear, (wanted - inside)[:, None]).solution.T
    shift = model.logits(torch.full((1, 6), 0.5).double(), unknown) - wanted
    target = wanted + (shift - shift.mean())[0]  # reached by half of everything
    found = equal_logits(model, unknown, torch.rand(1, 6, dtype=torch.float64), target)
    off = model.logits(found, unknown) - target
    assert float(off.max() - off.min()) < 1e-6
    assert ((found >= 0) & (found <= 1)).all()
    flat = torch.zeros(4).double()
    start = records.own
    better = equal_logits(model, records.truth, start, flat)
    spread = [model.logits(own, records.truth).std(dim=1).mean() for own in (start, better)]
    assert spread[1] < spread[0]
    assert ((better >= 0) & (better <= 1)).all()


def test_unevenness_is_least_where_classes_are_equal_and_counts_in_units_of_what_is_open():
    random = torch.Generator().manual_seed(1)
    points = torch.randn(1, 500, 3, generator=random, dtype=torch.float64)
    points = points - points.mean(dim=1, keepdim=True)
    worth = [float(unevenness(points + shift * torch.tensor([1.0, 0.0, 0.0]))) for shift in (0.0, 1.0, 5.0, -5.0)]
    assert worth[0] < 1e-9 < worth[1] < worth[2]
    assert worth[2] == pytest.approx(worth[3])
    narrow = float(unevenness(points / 10 + torch.tensor([0.5, 0.0, 0.0])))
    assert narrow == pytest.approx(worth[2])  # ten times less open, a tenth of the shift


def logits_of(records):
    points = torch.rand(len(records.own), 12, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    return lambda own: records.model.logits_at(own, points)


@pytest.mark.parametrize("how", ["descent", "trial"])
def test_a_search_finds_better_questions_inside_the_box(records, how):
    logits, rows = logits_of(records), records.auxiliary.own
    start = best_row(logits, rows[:5], 8)
    random = torch.Generator().manual_seed(3)
    found = by_descent(logits, start) if how == "descent" else by_trial(logits, start, rows, random)
    with torch.no_grad():
        before, after = unevenness(logits(start)), unevenness(logits(found))
    assert (after <= before + 1e-12).all()
    assert after.mean() < 0.8 * before.mean()
    assert ((found >= 0) & (found <= 1)).all()


def test_the_best_row_is_the_best_of_all(records):
    logits, rows = logits_of(records), records.auxiliary.own[:20]
    found = best_row(logits, rows, 8)
    with torch.no_grad():
        least = torch.stack([unevenness(logits(row.expand(8, -1))) for row in rows]).amin(dim=0)
        assert torch.allclose(unevenness(logits(found)), least)
