"""Regression from few rows: linear ridge and kernel ridge, chosen by leaving each row out once.

Guesses and learned attacks share these: an attack is only as strong as its regressor, and so is the guess that it has
to beat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from torch import Tensor

RIDGES = (0.1, 1.0, 10.0, 100.0)
WIDTHS = (1.0, 4.0, 16.0)
"""Of the Gaussian kernel, in units of the median squared distance between rows."""
KERNEL_RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
MOST_ROWS = 1000
"""Kernel regressions use this many rows at most: their cost grows with the cube."""
FOLDS = 5


class Kernel(Protocol):
    """What two rows have in common, as one number."""

    def weighted(self, inputs: Tensor, weights: Tensor) -> Tensor:
        """For every new row, the weights of the rows there were, by what it has in common with each."""


class Fit:
    """A regression: call it for new rows; `left_out` holds the prediction of each training row without that row."""

    def __init__(
        self, kernel: Kernel, outputs: Tensor, missed: Callable[[Tensor], tuple[Tensor, Tensor, Tensor]], number: int
    ):
        """`missed` says of outputs without their level: the kernel's weights, what is missed, and 1 - leverages.

        `number` is its place among all candidates.
        """
        self._kernel, self._level, self.number = kernel, outputs.mean(dim=0), number
        self._weights, off, free = missed(outputs - self._level)
        self.left_out = outputs - off / free.clamp_min(1e-6)
        self.error = float((self.left_out - outputs).square().mean())

    def __call__(self, inputs: Tensor) -> Tensor:
        """Predictions for new rows."""
        return self._level + self._kernel.weighted(inputs, self._weights)

    def out_of_sample(self, inputs: Tensor) -> Tensor:
        """Predictions of the rows it was made from, each as if it had not been there."""
        return torch.cat([self.left_out, self(inputs[len(self.left_out) :])])


REMEMBERED = 4
_remembered: dict[bytes, Fit] = {}
"""The last ones in this process: every attack on the same records begins with the same regression."""


def best_fit(inputs: Tensor, outputs: Tensor) -> Fit:
    """The regression with the smallest leave-one-out error."""
    parts = [part.contiguous().numpy() for part in (inputs, outputs)]
    digest = hashlib.blake2b(b"".join(f"{part.shape} {part.dtype} ".encode() for part in parts))
    for part in parts:
        digest.update(part.tobytes())
    key = digest.digest()
    found = _remembered.pop(key, None) or min(all_fits(inputs, outputs), key=lambda fit: fit.error)
    _remembered[key] = found  # at the end: the first is the one not used for longest
    while len(_remembered) > REMEMBERED:
        del _remembered[next(iter(_remembered))]
    return found


def all_fits(inputs: Tensor, outputs: Tensor, only: int | None = None) -> Iterator[Fit]:
    """Every candidate, or the one with this number."""
    yield from _linear_fits(inputs, outputs, [k for k in range(len(RIDGES)) if only in (None, k)])
    last = len(RIDGES) + len(WIDTHS) * len(KERNEL_RIDGES)
    numbers = [k for k in range(len(RIDGES), last) if only in (None, k)]
    yield from _gaussian_fits(inputs[:MOST_ROWS], outputs[:MOST_ROWS], numbers)


def cross_fitted(inputs: Tensor, outputs: Tensor) -> Tensor:
    """What the best regression says of rows that it was made from, each from the rows of the other folds.

    Unlike predictions that leave out one row alone, these hide nothing of a row: where inputs say little, what a
    prediction without one row differs by from that of all rows is that row itself, and a learner finds it there.
    """
    number, most = best_fit(inputs, outputs).number, len(inputs)
    found = torch.empty_like(outputs)
    for fold in range(min(FOLDS, most)):
        there = torch.arange(most) % FOLDS == fold
        (fit,) = all_fits(inputs[~there], outputs[~there], number)
        found[there] = fit(inputs[there])
    return found


def _linear_fits(inputs: Tensor, outputs: Tensor, numbers: list[int]) -> Iterator[Fit]:
    if not numbers:
        return
    linear = _Linear(inputs)
    vectors, roots, _ = torch.linalg.svd(inputs - inputs.mean(dim=0), full_matrices=False)
    yield from (Fit(linear, outputs, _by_axes(roots.square(), vectors, RIDGES[k]), k) for k in numbers)


def _gaussian_fits(inputs: Tensor, outputs: Tensor, numbers: list[int]) -> Iterator[Fit]:
    if not numbers:
        return
    apart = torch.cdist(inputs, inputs).square()
    typical = float(apart.median())
    for place, width in enumerate(WIDTHS):
        first = len(RIDGES) + place * len(KERNEL_RIDGES)
        some = [k for k in numbers if first <= k < first + len(KERNEL_RIDGES)]
        if some:
            gaussian = _Gaussian(inputs, width * typical)
            alike = gaussian.of(apart)
            yield from (Fit(gaussian, outputs, _by_inverse(alike, KERNEL_RIDGES[k - first]), k) for k in some)


def _by_axes(values: Tensor, vectors: Tensor, ridge: float) -> Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]:
    def missed(off: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        inside, share = vectors.T @ off, values / (values + ridge)
        weights = vectors @ (inside / (values + ridge)[:, None])
        return weights, off - vectors @ (share[:, None] * inside), 1 - (vectors.square() @ share)[:, None]

    return missed


def _by_inverse(alike: Tensor, ridge: float) -> Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]:
    """Four inverses by Cholesky take half the time of the decomposition that would serve all four ridges."""

    def missed(off: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        ridged = alike.clone()
        ridged.diagonal().add_(ridge)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(ridged))
        weights = inverse @ off
        return weights, ridge * weights, ridge * inverse.diagonal()[:, None]

    return missed


class _Linear:
    def __init__(self, inputs: Tensor) -> None:
        self._middle = inputs.mean(dim=0)
        self._centres = inputs - self._middle

    def weighted(self, inputs: Tensor, weights: Tensor) -> Tensor:
        return (inputs - self._middle) @ (self._centres.T @ weights)  # never rows times rows


class _Gaussian:
    def __init__(self, centres: Tensor, scale: float) -> None:
        self._centres, self._scale = centres, max(scale, 1e-12)

    def __call__(self, inputs: Tensor) -> Tensor:
        return self.of(torch.cdist(inputs, self._centres).square())

    def of(self, apart: Tensor) -> Tensor:
        """From squared distances."""
        return torch.exp(-apart / self._scale)

    def weighted(self, inputs: Tensor, weights: Tensor) -> Tensor:
        return self(inputs) @ weights
