"""Which point of what is still possible should be taken for the estimate, and asked at next? For logistic models.

A ranking leaves a polytope of unknown columns in [0, 1]. Three of its centres, without what auxiliary rows say, against
the mean by expectation propagation that the attack uses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linprog

from privee.attacks.chosen.next_question import equal_logits
from privee.attacks.metrics import feature_mse
from privee.audit.question_curve import estimates_after_each
from privee.audit.subject import Sample
from privee.defenses import defense as make_defense

Array = NDArray[np.float64]
SPEC, COUNTS = "ranking-only", (1, 2, 3, 5, 10)
WALK, SKIPPED = 1500, 100


class Polytope:
    """Points u with `slopes @ u >= levels`; slopes have length 1, and the box is among them."""

    def __init__(self, width: int) -> None:
        self.slopes = np.concatenate([np.eye(width), -np.eye(width)])
        self.levels = np.concatenate([np.zeros(width), -np.ones(width)])
        self.middle, self.radius = np.full(width, 0.5), 0.5

    def cut(self, slopes: Array, levels: Array) -> None:
        lengths = np.linalg.norm(slopes, axis=1)
        self.slopes = np.concatenate([self.slopes, slopes / lengths[:, None]])
        self.levels = np.concatenate([self.levels, levels / lengths])
        self._find_ball()

    def slack(self, point: Array) -> Array:
        return self.slopes @ point - self.levels

    def _find_ball(self) -> None:
        """The largest one within, in units of the last: a solver's tolerance is absolute, polytopes get tiny."""
        count, width = self.slopes.shape
        bounds = np.concatenate([-self.slopes, np.ones((count, 1))], axis=1)
        goal = np.append(np.zeros(width), -1.0)
        found = linprog(goal, bounds, self.slack(self.middle) / self.radius, bounds=[(None, None)] * (width + 1))
        if found.success and found.x[-1] > 0:
            self.middle, self.radius = self.middle + self.radius * found.x[:-1], self.radius * found.x[-1]


def chebyshev(inside: Polytope, rng: np.random.Generator) -> Array:
    return inside.middle


def analytic(inside: Polytope, rng: np.random.Generator) -> Array:
    """The least sum of -log(slack), by damped Newton steps."""
    point = inside.middle
    for _ in range(50):
        slack = inside.slack(point)
        if slack.min() <= 0:
            return inside.middle
        scaled = inside.slopes / slack[:, None]
        step = np.linalg.lstsq(scaled.T @ scaled, scaled.sum(axis=0), rcond=None)[0]
        decrement = float(np.sqrt(max(step @ scaled.sum(axis=0), 0.0)))
        point = point + step / (1 + decrement)
        if decrement < 1e-8:
            break
    return point


def walked(inside: Polytope, rng: np.random.Generator) -> Array:
    """The mean of a hit-and-run walk, with directions as the polytope is shaped around its analytic centre."""
    point = analytic(inside, rng)
    if inside.slack(point).min() <= 0:
        return inside.middle
    scaled = inside.slopes / inside.slack(point)[:, None]
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    shape, total = vectors / np.sqrt(values), np.zeros_like(point)
    ways = rng.standard_normal((WALK, len(point))) @ shape.T
    for k, way in enumerate(ways):
        slack, speed = inside.slack(point), inside.slopes @ way
        reach = slack / np.where(speed == 0, np.inf, -speed)
        ahead, back = np.min(reach[speed < 0], initial=np.inf), np.max(reach[speed > 0], initial=-np.inf)
        point = point + rng.uniform(max(back, -1e3), min(ahead, 1e3)) * way
        total += point if k >= SKIPPED else 0.0
    return total / (WALK - SKIPPED)


CENTRES: dict[str, Callable[[Polytope, np.random.Generator], Array]] = {
    "Chebyshev centre": chebyshev,
    "analytic centre": analytic,
    "mean of a hit-and-run walk": walked,
}


def compare(sample: Sample, seed: int) -> dict[str, dict[str, Any]]:
    """Feature MSE after so many questions, by what is taken for the estimate."""
    alone = dataclasses.replace(sample, auxiliary=None)
    found = {"expectation propagation": _attack(sample, seed), "the same without auxiliary rows": _attack(alone, seed)}
    return found | {name: _by_centre(sample, centre, seed) for name, centre in CENTRES.items()}


def _attack(sample: Sample, seed: int) -> dict[str, float]:
    estimates = estimates_after_each(sample, make_defense(SPEC), COUNTS[-1], seed)
    return {str(count): feature_mse(estimates[count], sample.truth) for count in COUNTS}


def _by_centre(sample: Sample, centre: Callable[[Polytope, np.random.Generator], Array], seed: int) -> dict[str, float]:
    model, defense, rng = sample.model, make_defense(SPEC), np.random.default_rng(seed)
    assert model.linear is not None  # noqa: S101 (that is what makes it logistic)
    weights, nothing = model.linear.numpy(), torch.zeros_like(sample.truth)
    wanted = torch.as_tensor(np.asarray(defense.telling_scores(model.n_classes)), dtype=sample.own.dtype).log()
    ask, inside = sample.oracle(defense, seed), [Polytope(model.unknown_columns) for _ in sample.own]
    estimate, errors = torch.full_like(sample.truth, 0.5), {}
    for count in range(1, COUNTS[-1] + 1):
        own = equal_logits(model, estimate, sample.own, wanted)
        order = (-ask(own)).argsort(dim=1, stable=True).numpy()
        with torch.no_grad():
            logits = model.logits(own, nothing).numpy()
        for one, ranks, at in zip(inside, order, logits, strict=True):
            one.cut(weights[ranks[:-1]] - weights[ranks[1:]], at[ranks[1:]] - at[ranks[:-1]])
        estimate = torch.from_numpy(np.stack([centre(one, rng) for one in inside])).clamp(0.0, 1.0)
        if count in COUNTS:
            errors[str(count)] = feature_mse(estimate, sample.truth)
    return errors
