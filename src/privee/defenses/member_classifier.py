"""MemGuard's own classifier: does a score vector look like one of a training record? One hidden layer, in NumPy.

It sees the logarithms of the leading scores, sorted and centred, so it is the same for all classes.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses.small_nets import Array, Arrays, descended, log_scores, started, synthetic_scores
from privee.errors import SettingError
from privee.randomness import seeded

HIDDEN, MOST_INPUTS, STEPS, ROWS = 8, 10, 400, 1000
MEMBERS, OTHERS = 8.0, 3.0
"""Spreads of synthetic logits: a model is surer of what it was trained on."""


class MemberClassifier(NamedTuple):
    """h(x) = tanh(x W + b) v + c; a member if it is above zero."""

    w: Array
    b: Array
    v: Array
    c: Array

    @property
    def numbers(self) -> tuple[float, ...]:
        """All weights, as a setting."""
        return tuple(float(f"{number:.6g}") for part in self for number in part.ravel())

    @property
    def steepest(self) -> float:
        """No more than this is gained for a step of length 1 in the logits."""
        return float(np.linalg.norm(self.w, 2) * np.linalg.norm(self.v))

    def inputs(self, logits: Array) -> tuple[Array, NDArray[np.intp]]:
        """The leading logits, falling and centred, and which classes they are."""
        leading = np.argsort(-logits, axis=-1, kind="stable")[..., : len(self.w)]
        found = np.take_along_axis(logits, leading, axis=-1)
        return found - found.mean(axis=-1, keepdims=True), leading

    def __call__(self, logits: Array) -> Array:
        """Output h for each row of logits (or of logarithms of scores)."""
        return np.asarray(np.tanh(self.inputs(logits)[0] @ self.w + self.b) @ self.v + self.c[0])

    def with_slope(self, logits: Array) -> tuple[Array, Array]:
        """Output h and its gradient by the logits."""
        inputs, leading = self.inputs(logits)
        hidden = np.tanh(inputs @ self.w + self.b)
        slope = ((1 - hidden**2) * self.v) @ self.w.T
        found = np.zeros_like(logits)
        np.put_along_axis(found, leading, slope - slope.mean(axis=-1, keepdims=True), axis=-1)
        return hidden @ self.v + self.c[0], found


def fit_classifier(members: Array, others: Array) -> MemberClassifier:
    """Logistic loss on scores of members and of other records; the same scores give the same weights."""
    width = min(members.shape[1], MOST_INPUTS)
    blank = MemberClassifier(np.zeros((width, HIDDEN)), *(np.zeros(n) for n in (HIDDEN, HIDDEN, 1)))
    inputs = np.concatenate([blank.inputs(log_scores(scores))[0] for scores in (members, others)])
    truth = np.repeat([1.0, 0.0], [len(members), len(others)])
    weight = np.repeat([0.5 / len(members), 0.5 / len(others)], [len(members), len(others)])

    def gradients(weights: Arrays, step: int) -> Arrays:
        w, b, v, c = weights
        hidden = np.tanh(inputs @ w + b)
        wrong = (1 / (1 + np.exp(-(hidden @ v[:, 0] + c))) - truth) * weight
        back = wrong[:, None] * v[:, 0] * (1 - hidden**2)
        first = [inputs.T @ back + 1e-3 * w, back.sum(axis=0)]
        return [*first, hidden.T @ wrong[:, None] + 1e-3 * v, wrong.sum(keepdims=True)]

    w, b, v, c = descended(started(((width, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)), 0), gradients, STEPS, 0.02)
    return MemberClassifier(w, b, v[:, 0], c)


@functools.lru_cache(maxsize=32)
def default_classifier(n_classes: int) -> MemberClassifier:
    """Fitted on public synthetic scores: confident ones for members, doubtful ones for others."""
    count = int(np.clip((1 << 20) // n_classes, 50, ROWS))
    members, others = (
        synthetic_scores(count, n_classes, spread, seeded(0, "member classifier", n_classes, str(spread)))
        for spread in (MEMBERS, OTHERS)
    )
    return fit_classifier(members, others)


@functools.lru_cache(maxsize=32)
def classifier_of(numbers: tuple[float, ...], n_classes: int) -> MemberClassifier:
    """From its weights as a setting."""
    width = min(n_classes, MOST_INPUTS)
    expected = HIDDEN * (width + 2) + 1
    if len(numbers) != expected:
        raise SettingError(f"weights are {len(numbers)} numbers; with {n_classes} classes there must be {expected}")
    cuts = np.cumsum([HIDDEN * width, HIDDEN, HIDDEN])
    w, b, v, c = np.split(np.array(numbers, dtype=np.float64), cuts)
    return MemberClassifier(w.reshape(width, HIDDEN), b, v, c)
