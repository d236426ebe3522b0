"""A Gaussian cut by planes: expectation propagation against plain Monte Carlo."""

import math

import pytest
import torch

from privee.attacks.chosen.answers import Answer, Reading
from privee.attacks.chosen.planes import CutGaussian, Planes, cut

DRAWN = 400_000


def brute_force(planes: Planes, record: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and covariance of those of many draws that lie above all planes of a record."""
    drawn = torch.randn(DRAWN, planes.slopes.shape[2], generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    there = planes.there[record]
    inside = (drawn @ planes.slopes[record, there].T >= planes.level[record, there]).all(dim=1)
    kept = drawn[inside]
    assert len(kept) > 2000
    return kept.mean(dim=0), kept.T.cov()


def random_planes(records: int = 6, count: int = 4, directions: int = 3) -> Planes:
    random = torch.Generator().manual_seed(2)
    slopes = torch.randn(records, count, directions, generator=random, dtype=torch.float64)
    level = 0.6 * torch.randn(records, count, generator=random, dtype=torch.float64)
    inside = torch.randn(records, directions, generator=random, dtype=torch.float64)
    side = torch.sign((slopes @ inside[..., None])[..., 0] - level)
    there = torch.rand(records, count, generator=random) < 0.8
    return Planes(slopes * side[..., None], level * side, there)


def test_moments_are_those_of_the_cut_gaussian():
    """Seeds are fixed; what EP and Monte Carlo miss together is 0.015 in means and 0.025 in covariances here."""
    planes = random_planes()
    eye, nothing = torch.eye(3).double().expand(6, 3, 3), torch.zeros(6, 3).double()
    mean, covariance = cut(eye, nothing, [planes])
    for record in range(6):
        true_mean, true_covariance = brute_force(planes, record)
        assert (mean[record] - true_mean).abs().max() < 0.03
        assert (covariance[record] - true_covariance).abs().max() < 0.05
        assert covariance[record].trace() < 2.9  # it was 3


def test_several_lists_of_planes_are_one_and_none_leaves_the_gaussian():
    planes = random_planes()
    eye, nothing = torch.eye(3).double().expand(6, 3, 3), torch.ones(6, 3).double()
    halves = [Planes(planes.slopes[:, s], planes.level[:, s], planes.there[:, s]) for s in (slice(2), slice(2, 4))]
    for one, other in zip(cut(eye, nothing, halves), cut(eye, nothing, [planes]), strict=True):
        assert torch.allclose(one, other)
    mean, covariance = cut(2 * eye, nothing, [])
    assert torch.allclose(mean, nothing / 2)
    assert torch.allclose(covariance, eye / 2)
    gone = Planes(planes.slopes, planes.level, torch.zeros_like(planes.there))
    assert torch.allclose(cut(eye, nothing, [gone])[0], nothing)


def test_a_plane_far_out_moves_the_mean_there_and_stays_finite():
    far = Planes(torch.ones(1, 1, 1).double(), torch.full((1, 1), 30.0).double(), torch.ones(1, 1, dtype=torch.bool))
    mean, covariance = cut(torch.eye(1).double()[None], torch.zeros(1, 1).double(), [far])
    assert float(mean) == pytest.approx(30 + 1 / 30, abs=1e-3)
    assert 0 < float(covariance) < 0.002


def gaussian() -> CutGaussian:
    slopes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]).double()
    return CutGaussian(slopes, lambda own: own.double(), records=1)


def answer(*pairs: tuple[int, int], own: tuple[float, ...] = (0.0, 0.0, 0.0), reading: Reading | None = None) -> Answer:
    above, below = (torch.tensor([side]) for side in zip(*pairs, strict=True))
    return Answer(torch.tensor([own]), above, below, torch.ones(1, len(pairs), dtype=torch.bool), reading)


def test_an_answer_cuts_where_own_columns_put_the_plane():
    """Class 0 above class 2 with own logits (a, 0, 0): y0 >= -a."""
    for own, mean in [(0.0, 0.7979), (-1.0, 1.5251)]:
        belief = gaussian()
        belief.learn(answer((0, 2), own=(own, 0.0, 0.0)))
        assert belief.mean[0].tolist() == pytest.approx([mean, 0.0], abs=1e-3)


def test_values_that_were_read_join_the_planes():
    """y0 - y1 is read as 1 with variance 1/3, and y1 to y2 is not read at all: mean half of 2 / (2 + 1/3) each way."""
    one = torch.eye(2).double()[None]
    value, precision = torch.tensor([[1.0, 5.0]]).double(), torch.tensor([[3.0, 0.0]]).double()
    belief = gaussian()
    read = Reading(torch.tensor([[0, 1, 2]]), one, value, precision)
    shown = answer((0, 1), reading=read)
    hidden = Answer(shown.own, shown.above, shown.below, torch.zeros_like(shown.shown), read)
    belief.learn(hidden)
    assert belief.mean[0].tolist() == pytest.approx([1 / (2 + 1 / 3), -1 / (2 + 1 / 3)], abs=1e-6)


def test_an_answer_that_leads_to_no_numbers_changes_nothing():
    belief = gaussian()
    belief.learn(answer((0, 2), own=(-2.0, 0.0, 0.0)))
    mean, covariance = belief.mean.clone(), belief.covariance.clone()
    belief.learn(answer((2, 0), own=(math.nan, 0.0, 0.0)))
    assert torch.equal(belief.mean, mean)
    assert torch.equal(belief.covariance, covariance)


def test_samples_have_its_mean_and_spread():
    """Five standard errors: fails by chance in fewer than one of 1e5 runs."""
    belief = gaussian()
    belief.learn(answer((0, 2), (1, 0)))
    drawn = belief.samples(40_000, torch.Generator().manual_seed(1))[0]
    assert torch.allclose(drawn.mean(dim=0), belief.mean[0], atol=5 / 200)
    assert torch.allclose(drawn.T.cov(), belief.covariance[0], atol=0.04)
