"""What one answer tells: which classes lie above which, and how far apart, as far as magnitudes can be trusted."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from privee.attacks.log_scores import SMALLEST
from privee.attacks.view import AttackerView, Oracle
from privee.errors import PriveeError
from privee.randomness import seeded

FAR = 3.0
"""Answers further out than so many standard deviations are believed less."""


class Limits(NamedTuple):
    """How sharp an answer can be: by the numbers that the model computes with, and for whoever draws conclusions."""

    resolution: float = 1e-9
    """Of a difference of logits."""
    share: float = 0.0
    """Of the variance that was believed: the noise of one answer counts as no less."""


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """What came back for n records, each asked with own columns of its own.

    Attributes:
        own: what was asked with, (n, own columns).
        above, below: classes in pairs, (n, classes - 1).
        shown: whether the release proves that the one scored at least as high as the other, (n, classes - 1).
        reading: what magnitudes say of the gaps between log-scores; None if nothing.
    """

    own: Tensor
    above: Tensor
    below: Tensor
    shown: Tensor
    reading: Reading | None

    def gaps(self, logits: Tensor) -> Tensor:
        """Between the classes of each pair; of (n, classes) or (n, points, classes)."""
        if logits.ndim == 2:
            return logits.gather(1, self.above) - logits.gather(1, self.below)
        above, below = (one[:, None].expand(-1, logits.shape[1], -1) for one in (self.above, self.below))
        return logits.gather(2, above) - logits.gather(2, below)


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """Values of sums of gaps between neighbours: `weights @ gaps` is `value` with this precision, 0 for none.

    Attributes:
        order: classes, such that each has the next one for a neighbour, (n, classes).
        weights: (n, sums, classes - 1).
        value, precision: (n, sums).
    """

    order: Tensor
    weights: Tensor
    value: Tensor
    precision: Tensor

    def sums(self, logits: Tensor) -> Tensor:
        """What logits make of these sums, (n, points, sums) of (n, points, classes)."""
        ordered = logits.gather(2, self.order[:, None].expand_as(logits))
        return (ordered[..., :-1] - ordered[..., 1:]) @ self.weights.mT


def answer_of(view: AttackerView, own: Tensor, release: Tensor, believed: Tensor, seed: int, limits: Limits) -> Answer:
    """Read a release.

    Args:
        view: what the attacker knows.
        own: what was asked with, (n, own columns).
        release: what came back, (n, classes).
        believed: logits that were thought possible before, (n, points, classes); magnitudes are judged by what the
            attacker's own copy of the defense makes of these.
        seed: for that copy's draws.
        limits: of what is ever taken for known.
    """
    above, below, shown = pairs_of(release, view.defense.monotone)
    return Answer(own, above, below, shown, _reading(view, release, believed, seed, limits))


def asked_of(oracle: Oracle, own: Tensor) -> Tensor:
    """The oracle's answer, checked: an answer about other records would be worse than none."""
    release = oracle(own)
    if release.ndim != 2 or len(release) != len(own):
        raise PriveeError(f"the oracle gave {tuple(release.shape)} for {len(own)} records")
    return release


def points_to_try(n_classes: int) -> int:
    """How many believed points a reading takes, so that chance is told from knowledge."""
    return max(192, 8 * n_classes)


def pairs_of(release: Tensor, monotone: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Each class but the leading one, with a class of the next higher value that was released."""
    order = (-release).argsort(dim=1, stable=True)
    values = release.gather(1, order)
    rises = (values[:, :-1] > values[:, 1:]) & monotone
    places = torch.arange(release.shape[1] - 1).expand_as(rises)
    last_rise = torch.where(rises, places, -1).cummax(dim=1).values
    return order.gather(1, last_rise.clamp_min(0)), order[:, 1:], last_rise >= 0


def _reading(view: AttackerView, release: Tensor, logits: Tensor, seed: int, limits: Limits) -> Reading | None:
    """Canonical correlations between true gaps and what is read from releases, over the believed points.

    Given the order of a release, a gap that says nothing more (of the ranking alone) explains nothing and is left out;
    an exact one has as much precision as numbers have; noise that several gaps share is counted once.
    """
    monotone = view.defense.monotone
    n, points, classes = logits.shape
    scores = torch.softmax(logits, dim=2).reshape(n * points, classes)
    made = torch.from_numpy(np.asarray(view.defense.release(scores.numpy(), draws=seeded(seed, "believed"))))
    seen, truth = _features(view, made, monotone), _gaps(made, logits.reshape(n * points, classes), monotone)
    found = _features(view, release, monotone)
    seen, truth = seen.reshape(n, points, -1), truth.reshape(n, points, -1)
    if float((seen - seen[:, :1]).abs().max()) == 0.0:
        return None
    middle, level = truth.mean(dim=1, keepdim=True), seen.mean(dim=1, keepdim=True)
    truth_basis, to_truth = _whitened(truth - middle)
    seen_basis, to_seen = _whitened(seen - level)
    left, correlation, right = torch.linalg.svd(truth_basis.mT @ seen_basis)
    k = correlation.shape[1]
    weights, looks = (to_truth @ left[:, :, :k]).mT, to_seen @ right.mT[:, :, :k]
    off = ((found - level[:, 0])[:, None] @ looks)[:, 0]
    explained = _beyond_chance(correlation.square().clamp_max(1.0), truth.shape[2], points)
    least = (limits.resolution**2 * weights.square().sum(dim=2)).clamp_min(limits.share)
    noise = torch.maximum(1 - explained, least) * (off.square() / FAR**2).clamp_min(1.0)
    precision = torch.where(explained > 0, explained / noise, 0.0)
    value = off / explained.clamp_min(1e-9).sqrt() + (weights @ middle.mT)[..., 0]
    return Reading(_order(release, monotone), weights, torch.where(explained > 0, value, 0.0), precision)


def _beyond_chance(explained: Tensor, width: int, points: int) -> Tensor:
    """What is explained, less what so many variables explain of each other by chance; 0 where that may be all."""
    edge = 4 * width / points
    corrected = 1 - (1 - explained) * (points - 1) / (points - 2 * width - 1)
    return torch.where(explained > edge, corrected.clamp(0.0, 1.0), 0.0)


def _whitened(values: Tensor) -> tuple[Tensor, Tensor]:
    """Uncorrelated columns of unit variance over points, with the weights that make them; 0 where nothing varies."""
    points = values.shape[1]
    basis, sizes, axes = torch.linalg.svd(values, full_matrices=False)
    there = sizes > 1e-9 * sizes[:, :1].clamp_min(1e-300)
    basis = basis * there[:, None]
    weights = axes.mT * torch.where(there, points**0.5 / sizes.clamp_min(1e-300), 0.0)[:, None]
    return basis, weights


def _features(view: AttackerView, release: Tensor, monotone: bool) -> Tensor:
    """Of magnitudes: gaps between log-scores as read, in the released order; what was read itself if there is none."""
    read = view.read(release)
    return _gaps(release, read.clamp_min(SMALLEST).log(), monotone) if monotone else read[:, :-1]


def _gaps(release: Tensor, logits: Tensor, monotone: bool) -> Tensor:
    """Between neighbours in the released order; between classes in turn where that proves nothing."""
    ordered = logits.gather(1, _order(release, monotone))
    return ordered[:, :-1] - ordered[:, 1:]


def _order(release: Tensor, monotone: bool) -> Tensor:
    if monotone:
        return (-release).argsort(dim=1, stable=True)
    return torch.arange(release.shape[1]).expand_as(release).contiguous()
