"""Answers of a logistic model: each draws planes, and what lies between them is what is still possible.

A class above another says that the unknown columns lie on one side of a plane, whatever the magnitudes. The Gaussian
that auxiliary rows give, cut by all planes, is no Gaussian; its mean is the best estimate, and it and its spread are
found by expectation propagation (Minka 2001), for all records at once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import torch
from torch import Tensor

from privee.attacks.chosen.answers import Answer, Limits

ROUNDS, STEP, SETTLED = 80, 0.6, 1e-5
FARTHEST = 50.0
"""No answer moves what is believed by more of its standard deviations: digits were lost."""
SHARPEST = Limits()


@dataclasses.dataclass(frozen=True, eq=False)
class Planes:
    """`slopes @ y` lies above `level`: slopes (n, planes, directions); level and whether it is there (n, planes)."""

    slopes: Tensor
    level: Tensor
    there: Tensor


class CutGaussian:
    """What y can be after some answers of a model whose logits are lines in it.

    Args:
        slopes: of the logits, (classes, directions).
        logits_of: logits at y = 0 with given own columns.
        records: how many there are.
        limits: of what is ever taken for known.
    """

    def __init__(
        self, slopes: Tensor, logits_of: Callable[[Tensor], Tensor], records: int, limits: Limits = SHARPEST
    ) -> None:
        self._slopes, self._logits_of, self._noise = slopes, logits_of, limits.resolution**2
        r = slopes.shape[1]
        self._precision = torch.eye(r, dtype=slopes.dtype).repeat(records, 1, 1)
        self._shift = torch.zeros(records, r, dtype=slopes.dtype)
        self._planes: list[Planes] = []
        self.mean, self.covariance = cut(self._precision, self._shift, self._planes)

    def samples(self, count: int, generator: torch.Generator) -> Tensor:
        """From the Gaussian of that mean and spread, (n, count, directions)."""
        drawn = torch.randn(len(self.mean), count, self.mean.shape[1], generator=generator, dtype=self.mean.dtype)
        values, vectors = torch.linalg.eigh(self.covariance)
        spread = vectors * values.clamp_min(0.0).sqrt()[:, None]
        return self.mean[:, None] + drawn @ spread.mT

    def learn(self, answer: Answer) -> None:
        """Its planes join those there are; values join the Gaussian."""
        with torch.no_grad():
            logits = self._logits_of(answer.own)
        slopes = self._slopes[answer.above] - self._slopes[answer.below]
        self._planes.append(Planes(slopes, -answer.gaps(logits), answer.shown))
        if answer.reading is not None:
            order, weights = answer.reading.order, answer.reading.weights
            neighbours = weights @ (self._slopes[order[:, :-1]] - self._slopes[order[:, 1:]])
            value = answer.reading.value - answer.reading.sums(logits[:, None])[:, 0]
            weighted = neighbours * answer.reading.precision[..., None]
            self._precision = self._precision + weighted.mT @ neighbours
            self._shift = self._shift + (weighted.mT @ value[..., None])[..., 0]
        mean, covariance = cut(self._precision, self._shift, self._planes, self._noise)
        # Answers that contradict each other, by rounding or a model that is not what it seemed, tell nothing more.
        reach = FARTHEST * self.covariance.diagonal(dim1=1, dim2=2).sqrt()
        within = (mean - self.mean).abs() <= reach  # not so of what is no number
        sound = (within & (covariance.diagonal(dim1=1, dim2=2) > 0)).all(dim=1)[:, None]
        self.mean = torch.where(sound, mean, self.mean)
        self.covariance = torch.where(sound[..., None], covariance, self.covariance)


def cut(precision: Tensor, shift: Tensor, planes: list[Planes], noise: float = 1e-18) -> tuple[Tensor, Tensor]:
    """Mean and covariance of a Gaussian that is cut by planes: expectation propagation, all planes at once.

    Args:
        precision: of the Gaussian, (n, r, r).
        shift: its precision times its mean, (n, r).
        planes: what cuts it.
        noise: variance of a plane's place.

    Example:
        >>> one = Planes(torch.ones(1, 1, 1).double(), torch.zeros(1, 1).double(), torch.ones(1, 1, dtype=torch.bool))
        >>> mean, variance = cut(torch.eye(1).double()[None], torch.zeros(1, 1).double(), [one])
        >>> round(float(mean), 4), round(float(variance), 4)  # of the upper half of a standard normal
        (0.7979, 0.3634)
    """
    if not planes:
        covariance = torch.linalg.inv(precision)
        return (covariance @ shift[..., None])[..., 0], covariance
    slopes, level, there = (
        torch.cat([getattr(one, f.name) for one in planes], dim=1) for f in dataclasses.fields(Planes)
    )
    length = slopes.norm(dim=2).clamp_min(1e-300)
    slopes, level, noise_there = slopes / length[..., None], level / length, noise / length.square()
    tau, nu = torch.zeros_like(level), torch.zeros_like(level)
    for _ in range(ROUNDS):
        mean, covariance = _joined(precision, shift, slopes, tau, nu)
        middle = (slopes @ mean[..., None])[..., 0]
        spread = ((slopes @ covariance) * slopes).sum(dim=2).clamp_min(1e-300)
        others = (1 / spread - tau).clamp_min(1e-12 / spread)
        new_tau, new_nu = _factor((middle / spread - nu) / others, 1 / others, level, noise_there)
        moved = ((new_tau - tau).abs() * spread * there).nan_to_num().amax()
        tau = tau + STEP * (new_tau * there - tau)
        nu = nu + STEP * (new_nu * there - nu)
        if moved < SETTLED:
            break
    return _joined(precision, shift, slopes, tau, nu)


def _joined(precision: Tensor, shift: Tensor, slopes: Tensor, tau: Tensor, nu: Tensor) -> tuple[Tensor, Tensor]:
    """The Gaussian, and one Gaussian factor for every plane."""
    covariance, singular = torch.linalg.inv_ex(precision + (slopes * tau[..., None]).mT @ slopes)
    # Where answers are as exact as numbers are, one record's digits may not last; it must not stop the others.
    covariance = torch.where((singular != 0)[:, None, None], torch.nan, (covariance + covariance.mT) / 2)
    mean = (covariance @ (shift + (slopes.mT @ nu[..., None])[..., 0])[..., None])[..., 0]
    return mean, covariance


def _factor(centre: Tensor, variance: Tensor, level: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """The Gaussian factor that stands for "above the plane", given what all the others say."""
    total = variance + noise
    z = (centre - level) / total.sqrt()
    hazard = math.sqrt(2 / math.pi) / torch.special.erfcx(-z / math.sqrt(2))  # keeps its digits far out on either side
    bend = (hazard * (hazard + z) / total).clamp_min(0.0)
    left = (1 - variance * bend).clamp_min(1e-9)
    return bend / left, (centre * bend + hazard / total.sqrt()) / left
