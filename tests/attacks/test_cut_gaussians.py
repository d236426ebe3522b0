"""Gaussians cut by planes, for many records at once."""

import pytest
import torch

from privee.attacks.chosen.planes import Planes, cut


def test_a_record_whose_digits_do_not_last_does_not_stop_the_others():
    precision = torch.stack([torch.full((2, 2), 1e18), torch.eye(2)]).double()
    plane = Planes(
        torch.tensor([[[1.0, 0.0]]] * 2).double(), torch.zeros(2, 1).double(), torch.ones(2, 1, dtype=torch.bool)
    )
    mean, covariance = cut(precision, torch.zeros(2, 2).double(), [plane])
    assert mean[0].isnan().all()  # which is how it is told from what is known
    assert mean[1].tolist() == pytest.approx([0.7979, 0.0], abs=1e-3)
    assert covariance[1].diagonal().tolist() == pytest.approx([0.3634, 1.0], abs=1e-3)
