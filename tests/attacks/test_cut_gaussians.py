"""Gaussians cut by planes, for many records at once."""

from types import SimpleNamespace

import pytest
import torch

from privee.attacks.chosen import planes
from privee.attacks.chosen.answers import Answer
from privee.attacks.chosen.planes import CutGaussian, Planes, cut


def test_a_record_whose_digits_do_not_last_does_not_stop_the_others():
    precision = torch.stack([torch.full((2, 2), 1e18), torch.eye(2)]).double()
    plane = Planes(
        torch.tensor([[[1.0, 0.0]]] * 2).double(), torch.zeros(2, 1).double(), torch.ones(2, 1, dtype=torch.bool)
    )
    mean, covariance = cut(precision, torch.zeros(2, 2).double(), [plane])
    assert mean[0].isnan().all()  # which is how it is told from what is known
    assert mean[1].tolist() == pytest.approx([0.7979, 0.0], abs=1e-3)
    assert covariance[1].diagonal().tolist() == pytest.approx([0.3634, 1.0], abs=1e-3)


def test_a_belief_that_leaves_where_it_was_has_lost_its_digits_and_is_not_taken(monkeypatch):
    """After many questions a record's planes lie closer than numbers can tell; its last good estimate stays."""
    belief = CutGaussian(torch.eye(2).double(), lambda own: own, records=2)
    lost = torch.tensor([[1e9, 0.0], [1.0, 0.0]]).double(), torch.eye(2).double().repeat(2, 1, 1) / 2
    monkeypatch.setattr(planes, "cut", lambda *_: lost)
    pairs = torch.zeros(2, 1, dtype=torch.int64)
    belief.learn(Answer(torch.zeros(2, 2).double(), pairs, pairs + 1, pairs == 0, None))
    assert belief.mean.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert belief.covariance[:, 0, 0].tolist() == [1.0, 0.5]


def test_an_answer_that_contradicts_all_before_it_moves_nothing():
    """Two records are told nearer and nearer; then one is said to lie 300 of its standard deviations away."""
    belief = CutGaussian(
        torch.tensor([[1.0], [0.0]]).double(), lambda own: torch.cat([-own, torch.zeros_like(own)], dim=1), 2
    )

    def learn(level: torch.Tensor, above: torch.Tensor) -> None:
        first, second = torch.where(above, 0, 1), torch.where(above, 1, 0)
        answer = SimpleNamespace(own=level, above=first, below=second, reading=None, shown=torch.ones_like(above))
        answer.gaps = lambda logits: logits.gather(1, first) - logits.gather(1, second)
        belief.learn(answer)

    for _ in range(12):
        learn(belief.mean.clone(), belief.mean < 0.3)
    before, spread = belief.mean.clone(), belief.covariance[:, 0].sqrt()
    learn(before + torch.tensor([[300.0], [0.0]]) * spread, torch.ones(2, 1, dtype=torch.bool))
    moved = ((belief.mean - before) / spread).ravel().tolist()
    assert moved[0] == 0
    assert 0.1 < moved[1] < 2
