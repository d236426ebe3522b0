"""What learned defenses train with: public score vectors, and Adam for a handful of arrays. NumPy only, repeatable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from privee.randomness import Draws, seeded

Array = NDArray[np.float64]
Arrays = list[Array]

SMALLEST = 1e-9
"""Logarithms are taken of scores no smaller than this."""


def synthetic_scores(count: int, n_classes: int, spread: float, draws: Draws) -> Array:
    """Softmax of normal logits: a doubtful model's with a small spread, a confident one's with a large one."""
    return softmax(spread * draws.normal((count, n_classes)))


def softmax(logits: Array) -> Array:
    """Of each row (the last axis)."""
    found = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def log_scores(scores: Array) -> Array:
    """Logits that give these scores back."""
    return np.log(np.maximum(scores, SMALLEST))


def started(shapes: tuple[tuple[int, ...], ...], seed: int) -> Arrays:
    """Weights to start from: normal over the root of what they add up, zero for biases."""
    draws = seeded(seed, "small nets")
    return [draws.normal(shape) / np.sqrt(shape[0]) if len(shape) > 1 else np.zeros(shape) for shape in shapes]


def descended(weights: Arrays, gradients: Callable[[Arrays, int], Arrays], steps: int, rate: float) -> Arrays:
    """Adam, with a rate that falls to zero; `gradients` gets the weights and the number of the step."""
    mean, square = ([np.zeros_like(one) for one in weights] for _ in range(2))
    for step in range(steps):
        now = rate * (1 - step / steps)
        for k, gradient in enumerate(gradients(weights, step)):
            mean[k] += 0.1 * (gradient - mean[k])
            square[k] += 0.001 * (gradient**2 - square[k])
            unbiased = mean[k] / (1 - 0.9 ** (step + 1))
            weights[k] = weights[k] - now * unbiased / (np.sqrt(square[k] / (1 - 0.999 ** (step + 1))) + 1e-8)
    return weights
