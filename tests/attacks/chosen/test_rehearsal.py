"""Rehearsed on known rows, the attack is believed as far as it was right there."""

import torch

from privee.attacks.chosen.rehearsal import FEWEST, ROWS, Rehearsal, with_rehearsal
from tests._support.asked_records import small_records


def test_rows_to_rehearse_are_taken_from_the_auxiliary_ones_and_no_longer_among_them():
    records = small_records(rows=10)
    view = records.view("none")
    wider, rehearsal = with_rehearsal(view)
    assert wider.rows == 10 + ROWS
    assert torch.equal(wider.own[10:], records.auxiliary.own[:ROWS])
    assert torch.equal(rehearsal.unknown, records.auxiliary.unknown[:ROWS])
    assert torch.equal(wider.auxiliary.own, records.auxiliary.own[ROWS:])


def test_with_few_rows_there_is_no_rehearsal():
    for auxiliary in (0, FEWEST - 1):
        view = small_records(rows=10, auxiliary=auxiliary).view("none")
        wider, rehearsal = with_rehearsal(view)
        assert wider is view
        guess, estimate = torch.zeros(10, 3), torch.ones(10, 3)
        assert rehearsal.believed(guess, estimate) is estimate
        assert rehearsal.answer(view, view.own[:0], 0).shape == (0, 4)


def test_what_is_rehearsed_is_answered_by_the_attackers_own_copy():
    records = small_records(rows=10)
    view = records.view("none")
    _, rehearsal = with_rehearsal(view)
    found = rehearsal.answer(view, records.auxiliary.own[:ROWS], 0)
    assert torch.allclose(found, records.model.scores(records.auxiliary.own[:ROWS], rehearsal.unknown))
    assert records.asked == []


def test_estimates_are_believed_as_far_as_they_were_right():
    """One column found exactly, one moved twice as far as it should have been, one moved at random."""
    random = torch.Generator().manual_seed(1)
    truth = torch.randn(ROWS, 3, generator=random, dtype=torch.float64)
    guess = torch.zeros(ROWS + 5, 3, dtype=torch.float64)
    rehearsal = Rehearsal(truth[:, :1], truth)
    noise = torch.randn(ROWS + 5, generator=random, dtype=torch.float64)
    wanted = torch.cat([torch.ones(5, 3), truth])
    moved = torch.stack([wanted[:, 0], 2 * wanted[:, 1], noise], dim=1)
    found = rehearsal.believed(guess, moved)
    assert found.shape == moved.shape
    shares = (found / moved)[0]
    assert shares[0] > 0.75
    assert 0.4 < shares[1] < 0.65
    assert shares[2] < 0.4
    assert (rehearsal.believed(guess, -moved) == 0).all()
