"""Reverse sigmoid (Lee, Edwards, Molloy, Su 2018), as the Adversarial Robustness Toolbox has it.

Each score p becomes f(p) = p - beta (sigmoid(gamma logit p) - 1/2), clipped to [0, 1]; then all are divided by their
sum. f falls, rises from 0.025 on (with beta 1, gamma 0.1) and falls again from 0.975 on, so tiny scores come out as
large as middling ones: the ranking breaks, and with many classes the winner too.

The inverse. A release y comes from total * y = f(p) for one unknown total. Given that, a class has two scores to
choose from, one on each of the first two branches of f (the winner, if all others are tiny, on the third), and scores
sum to one: finitely many score vectors fit a release, and no draw hides which. The density of each is known in closed
form, the prior's times prod |1 / f'(p_j)| total^(K-1) / |sum y_j / f'(p_j)|, and the estimate is their mean. Up to
eight classes all choices are tried. With more, those where two classes at most are on the rising branch beside the
winner (one beyond 20 classes, none beyond 64), and a sure winner's. From four classes on, next to them stands the mean
over all choices, taken as independent but for the sum (`folded_scores`). Each counts by how likely it makes the
release: choices that fit tell most of confident models, the mean is what is left where the true choice is not found.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.base import Defense, Guarantee, check_positive
from privee.defenses.folded_scores import LEAST, Branch, mean_by_totals
from privee.defenses.inverse import CONCENTRATIONS, project_to_simplex
from privee.defenses.registry import register
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores import ascending, place
from privee.scores.forms import Floats

Array = NDArray[np.float64]
Branches = NDArray[np.int8]
FALLING, RISING, END = 0, 1, 2

MISFIT, MISFIT_OF_SURE = 3e-5, 1e-5
"""How far a choice may miss what it must meet before it counts for little: little more than rounding, as a release has
no draws. A sure winner's is exact (its scores sum to one but for those below `LEAST`), and counts for so much where f
is cut off that middling releases near it would be read as one."""
TRIED, TRIED_OF_ALL = 0.2, 5.0
"""What choices that are tried count beside the mean over all: where only some are, more nearly fit than are true. Where
all are, little is left to the mean, but a choice can fit at more totals than the one that is found, most with a large
gamma. Of three classes a normal number says too little."""
CUT_OFF = 6e3
"""The slope in place of 1e7 where f is cut off: all smaller scores come out there too, a tenth of a sure model's."""
POINTS, TOTALS, BLOCK = 4000, 65, 1 << 21
ALONE, FEW_CLASSES, SOME_CLASSES, MANY_CLASSES = 3, 8, 20, 64


def perturbed(scores: Array, beta: float, gamma: float) -> Array:
    """What f makes of scores."""
    inside = np.clip(scores, LEAST, 1 - LEAST)
    odds = np.exp(gamma * (np.log1p(-inside) - np.log(inside)))
    return np.asarray(np.clip(scores - beta * (1 / (1 + odds) - 0.5), 0.0, 1.0))


@register
@dataclasses.dataclass(frozen=True)
class ReverseSigmoid(Defense):
    """Subtracts a sigmoid of each score and divides by the sum. Meant against model stealing.

    Args:
        beta: how much is subtracted; at most 2, so that the largest scores stay above zero.
        gamma: how steep the sigmoid is; below 1.
    """

    name: ClassVar[str] = "reverse-sigmoid"
    place: ClassVar[int] = 44
    summary: ClassVar[str] = "a sigmoid subtracted from every score; breaks ranking and class"

    beta: float = 1.0
    gamma: float = 0.1

    def __post_init__(self) -> None:
        check_positive(beta=self.beta, gamma=self.gamma)
        if self.beta > 2 or self.gamma >= 1:
            raise SettingError(f"beta must be at most 2 and gamma below 1, got {self.beta:g} and {self.gamma:g}")

    def _release(self, rows: Floats, sums: Array, draws: Draws) -> Floats:
        made = perturbed(rows.astype(np.float64), self.beta, self.gamma)
        total = made.sum(axis=1, keepdims=True)
        made = np.divide(made, total, out=np.full(made.shape, 1 / rows.shape[1]), where=total > 0)
        return np.asarray(made, dtype=rows.dtype)

    def _estimate(self, rows: Array) -> Floats:
        order, rising = ascending(np.ascontiguousarray(rows))
        values = np.asarray(rising, dtype=np.float64)
        choices, curve = _choices(rows.shape[1]), _curve(self)
        at_once = max(1, BLOCK // (choices.size + len(choices) * TOTALS))
        blocks = np.array_split(values, -(-len(values) // at_once))
        return place(order, np.concatenate([_posterior_mean(block, choices, curve) for block in blocks]))

    def guarantee(self, n_classes: int) -> Guarantee:
        """Nothing: a public function without draws, of which each score has few inverses."""
        return Guarantee(
            not_covered=(
                "everything but which branch each score came from, and the sum of scores says much of that",
                "the ranking and the predicted class can change",
            )
        )


Curve = tuple[Branch, Branch, Branch]


@functools.lru_cache(maxsize=16)
def _curve(defense: ReverseSigmoid) -> Curve:
    logits = np.linspace(np.log(LEAST), -np.log(LEAST), 2 * POINTS)
    scores = 1 / (1 + np.exp(-logits))
    values = perturbed(scores, defense.beta, defense.gamma)
    low, high = int(values[:POINTS].argmin()), POINTS + int(values[POINTS:].argmax())
    slopes = np.gradient(values, scores)
    slopes[:2] = slopes[-2:] = -CUT_OFF
    both = (values, scores, slopes)
    falling, rising = (Branch(*(x[part] for x in both)) for part in (slice(low, None, -1), slice(low, high + 1)))
    return falling, rising, Branch(*(x[: high - 1 : -1] for x in both))


@functools.lru_cache(maxsize=16)
def _choices(n_classes: int) -> Branches:
    """The branch of every class, in rising order of the release, for each choice that is tried."""
    if n_classes <= FEW_CLASSES:
        found = np.array(list(itertools.product((FALLING, RISING), repeat=n_classes)), dtype=np.int8)
    else:
        others = np.arange(n_classes - 1)
        most = 2 if n_classes <= SOME_CLASSES else 1 if n_classes <= MANY_CLASSES else 0
        few = [list(chosen) for size in range(most + 1) for chosen in itertools.combinations(others, size)]
        found = np.full((len(few), n_classes), FALLING, dtype=np.int8)
        found[:, -1] = RISING
        for choice, chosen in zip(found, few, strict=True):
            choice[chosen] = RISING
    sure = np.full((1, n_classes), FALLING, dtype=np.int8)
    sure[0, -1] = END
    return np.concatenate([found, sure])


def _posterior_mean(rows: Array, choices: Branches, curve: Curve) -> Array:
    """Mean of the score vectors that fit, by their weights; where none fits, the nearest."""
    rising = curve[RISING]
    totals = np.geomspace(rising.values[0], rising.values[-1], TOTALS) / np.maximum(rows[:, -1:], 1e-12)
    values = totals[:, :, None] * rows[:, None, :]
    sums = sum(np.interp(values, part.values, part.scores) @ (choices == k).T for k, part in enumerate(curve))
    total = _nearer(_where_zero(totals, sums - 1.0), totals, rows, choices, curve)
    total[:, -1] = _sure_total(rows, curve)
    found, slopes, missed = _read(curve, total[:, :, None] * rows[:, None, :], choices)
    slopes = np.where(slopes < 0, np.minimum(slopes, -1e-6), np.maximum(slopes, 1e-6))
    weight = (rows.shape[1] - 1) * np.log(total) - np.log(np.abs(slopes)).sum(axis=2)
    weight -= np.log(np.maximum(np.abs((rows[:, None, :] / slopes).sum(axis=2)), 1e-12))
    of_sum = np.append(np.full(len(choices) - 1, MISFIT), 10 * LEAST)
    beyond = np.append(np.full(len(choices) - 1, MISFIT), MISFIT_OF_SURE)
    weight += _log_prior(found) - np.abs(found.sum(axis=2) - 1.0) / of_sum - missed.sum(axis=2) / beyond
    most = weight.max(axis=1, keepdims=True)
    weight = np.exp(weight - most)
    whole = weight.sum(axis=1, keepdims=True)
    mean = (weight[:, :, None] * found).sum(axis=1) / whole
    if rows.shape[1] > ALONE:
        of_all, log = mean_by_totals(rows, *curve[:2], CONCENTRATIONS)
        tried = np.log((TRIED_OF_ALL if rows.shape[1] <= FEW_CLASSES else TRIED) * whole) + most
        mean += (of_all - mean) / (1 + np.exp(np.clip(tried - log[:, None], -500, 500)))
    return project_to_simplex(mean)


def _nearer(total: Array, totals: Array, rows: Array, choices: Branches, curve: Curve) -> Array:
    """Two steps of Newton's, each no longer than from one total that was tried to the next."""
    longest = float(np.max(totals[:, 1] / totals[:, 0], initial=1.0))
    for _ in range(2):
        found, slopes, _ = _read(curve, total[:, :, None] * rows[:, None, :], choices)
        rise = (rows[:, None, :] / np.where(np.abs(slopes) < 1e-6, 1e-6, slopes)).sum(axis=2)
        step = np.divide(found.sum(axis=2) - 1.0, rise, out=np.zeros_like(total), where=np.abs(rise) > 1e-9)
        total = np.clip(total - step, total / longest, total * longest)
    return total


def _sure_total(rows: Array, curve: Curve) -> Array:
    """For the last choice, a winner near one: both of its branches fall, so halving finds where scores sum to one.

    So near one that is steep: the totals that were tried are too far apart. None may lift another class beyond where f
    is cut off: smaller scores than `LEAST` all come out there, and the sum cannot tell them apart.
    """
    falling, _, end = curve
    low, high = (end.values[k] / np.maximum(rows[:, -1], 1e-12) for k in (0, -1))
    for _ in range(50):
        middle = (low + high) / 2
        values = middle[:, None] * rows
        rest = np.interp(values[:, :-1], falling.values, falling.scores).sum(axis=1)
        above = np.interp(values[:, -1], end.values, end.scores) + rest > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.minimum(low, falling.values[-1] / np.maximum(rows[:, :-1].max(axis=1), 1e-12)))


def _log_prior(scores: Array) -> Array:
    """A mixture of Dirichlet distributions."""
    from scipy.special import gammaln, logsumexp  # here, so that importing privee stays fast

    classes, logs = scores.shape[2], np.log(np.maximum(scores, LEAST)).sum(axis=2)
    each = [
        np.log(share) + gammaln(classes * c) - classes * gammaln(c) + (c - 1) * logs
        for c, share in CONCENTRATIONS.items()
    ]
    return np.asarray(logsumexp(each, axis=0))


def _read(curve: Curve, values: Array, choices: Branches) -> tuple[Array, Array, Array]:
    """Scores and slopes behind values of f, each on its branch, and how far beyond the branch the value lies."""
    found = np.empty((3, *values.shape))
    for k, part in enumerate(curve):
        beyond = np.abs(values - np.clip(values, part.values[0], part.values[-1]))
        read = (np.interp(values, part.values, part.scores), np.interp(values, part.values, part.slopes), beyond)
        for one, of_branch in zip(found, read, strict=True):
            np.copyto(one, of_branch, where=choices == k)
    return found[0], found[1], found[2]


def _where_zero(places: Array, short: Array) -> Array:
    """By (row, choice): the first of a row's places where (row, place, choice) changes sign; else the nearest to zero.

    Between two places it is a straight line.
    """
    change = np.signbit(short[:, :-1]) != np.signbit(short[:, 1:])
    crosses = change.any(axis=1)
    at = np.where(crosses, change.argmax(axis=1), np.abs(short).argmin(axis=1))
    after = at + crosses
    x0, x1 = (np.take_along_axis(places, k, axis=1) for k in (at, after))
    y0, y1 = (np.take_along_axis(short, k[:, None], axis=1)[:, 0] for k in (at, after))
    share = np.divide(y0, y0 - y1, out=np.zeros_like(y0), where=y0 != y1)
    return np.asarray(x0 + share * (x1 - x0))
