"""Record-order: the order between records as far as epsilon allows, under pure differential privacy of the whole score.

The proof: docs/record_order.md.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.base import Defense, Guarantee, check_positive, check_whole
from privee.defenses.registry import register
from privee.defenses.window_design import best_windows, order_kept
from privee.defenses.windows import CELLS, Integers, Words, respond, word_shares
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores import check_rows, to_rows
from privee.scores.forms import Floats

Array = NDArray[np.float64]
SMALLEST_EPSILON = 1e-3
WEAK = 16.0
"""From here on, epsilon by itself promises little."""
TINY = 1e-30
"""Below every value that is released and above the smallest float32."""
LEAST, MOST = 1e-3, 1e6
"""Of a prior's numbers."""
UNLEARNED = 0.5
"""The number of every class in a prior that was not learned: scores near 0 and 1 are likelier than those between."""


@register
@dataclasses.dataclass(frozen=True)
class RecordOrder(Defense):
    """Probability vectors that order records by a class's score, epsilon-indistinguishable for any scores at all.

    With two classes one number is released, with more all of them, each with its part of epsilon, or one.

    Args:
        epsilon: of one release, for the whole score vector: ranking and predicted class are protected too.
        positive: the class by whose score records are ordered; the others then share what is left. None: each class
            gets epsilon over the number of classes. Two classes are one number either way.
        prior: of the scores, one number per class (a Dirichlet distribution); decides how fine the order is where, and
            makes released scores calibrated if the model's are. Learn it with `fitted`.

    Example:
        >>> RecordOrder(epsilon=4.0).guarantee(2).same
        'any two score vectors'
    """

    name: ClassVar[str] = "record-order"
    place: ClassVar[int] = 65
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "order between records as far as epsilon allows; hides the class too"
    example: ClassVar[str] = "record-order:epsilon=4"
    audited: ClassVar[tuple[str, ...]] = ("record-order:epsilon=4",)
    advice: ClassVar[Advice] = Advice(
        keeps=("records",),
        meaningful=True,
        wins="keeps the order between records, and protects the whole score vector, its class included",
        loses={
            "class": "orders records, but does not keep the predicted class exact",
            "top": "orders records, but does not keep the order of classes within one",
            "ranking": "orders records, but does not keep the order of classes within one (kept in {kept})",
        },
        learns="prior",
    )

    epsilon: float
    positive: int | None = None
    prior: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon)
        if self.epsilon < SMALLEST_EPSILON:
            raise SettingError(f"epsilon must be {SMALLEST_EPSILON:g} or more, got {self.epsilon:g}")
        if self.positive is not None:
            check_whole(0, 1_000_000, positive=self.positive)
        if self.prior is not None:
            _check_prior(self.prior)

    @classmethod
    def fitted(cls, epsilon: float, scores: Any, **settings: Any) -> RecordOrder:
        """With a prior learned from scores that are public or the active party's own to give."""
        rows, _ = to_rows(scores)
        check_rows(rows)
        alone = cls(epsilon, **settings)
        return dataclasses.replace(alone, prior=fit_prior(rows, _measured(alone, rows.shape[1])))

    @classmethod
    def within(cls, epsilon: float, *, keep_top: int | None, public: Any = None) -> RecordOrder:
        """With a prior if there are public scores; there is no order within a record to keep."""
        return cls(epsilon) if public is None else cls.fitted(epsilon, public)

    @property
    def learned_by(self) -> str:
        """The call of `fitted`, where there is a prior."""
        positive = "" if self.positive is None else f", positive={self.positive}"
        return "" if self.prior is None else f"privee.RecordOrder.fitted({self.epsilon:g}, public_scores{positive})"

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        public = _public(self, rows.shape[1])
        shares = rows[:, public.measured] / np.maximum(sums, TINY)[:, None]
        cells = _cells(shares, public)
        starts = public.starts[public.design, cells]
        outcomes = respond(starts, public.width, public.high, public.low, draws)
        told = np.clip(public.values[public.design, outcomes], TINY, 1.0)
        return _filled_in(told, public).astype(rows.dtype)

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        """A released score is the mean of those it may have come from, by the prior: there is no better inverse."""
        return rows.copy()

    def guarantee(self, n_classes: int) -> Guarantee:
        """Pure differential privacy of the whole score vector; what is kept holds on average, if the prior does."""
        public = _public(self, n_classes)
        each = self.epsilon / len(public.measured)
        kept = order_kept(each, public.priors[0])
        weak = (f"an epsilon of {WEAK:g} or more promises little by itself; the measured attack error carries",)
        changed = f" (in about {kept.class_changed:.0%} of records)" if n_classes == 2 else ""
        return Guarantee(
            proven=f"{self.epsilon:g}-differential privacy of the whole score vector, its ranking and class included",
            same="any two score vectors",
            epsilon=self.epsilon,
            delta=0.0,
            assumptions=() if self.prior is None else ("the prior was not learned from the records it is used for",),
            not_covered=(
                "T fresh releases cost T times epsilon",
                f"the ranking within a record and the predicted class can change{changed}",
                *(weak if self.epsilon >= WEAK else ()),
            ),
            figures={"epsilon_per_number": each} | kept._asdict(),
        )


def _check_prior(prior: tuple[float, ...]) -> None:
    if not isinstance(prior, tuple) or len(prior) < 2:
        raise SettingError("prior must be a list with one number for each class")
    check_positive(**{f"prior of class {k}": number for k, number in enumerate(prior)})
    if not LEAST <= min(prior) <= max(prior) <= MOST:
        raise SettingError(f"the numbers of a prior must lie between {LEAST:g} and {MOST:g}")


class _Public(NamedTuple):
    """All that is public: which classes are measured, and by class (`design`, `width`, `high`, `low`) or design."""

    measured: Integers
    rest: Array
    priors: tuple[tuple[float, float], ...]
    design: Integers
    edges: Array
    starts: Integers
    values: Array
    width: Integers
    high: Words
    low: Words


@functools.lru_cache(maxsize=64)
def _public(defense: RecordOrder, n_classes: int) -> _Public:
    measured = _measured(defense, n_classes)
    prior = np.full(n_classes, UNLEARNED) if defense.prior is None else np.array(defense.prior, dtype=np.float64)
    if len(prior) != n_classes:
        raise SettingError(f"prior is for {len(prior)} classes, and there are {n_classes}")
    each, total = defense.epsilon / len(measured), float(prior.sum())
    own, design = np.unique(prior[measured], return_inverse=True)
    priors = tuple((float(one), total - float(one)) for one in own)
    designs = [best_windows(each, prior_of_one) for prior_of_one in priors]
    words = np.array([word_shares(each, one.width) for one in designs], dtype=np.uint64)[design]
    edges, starts, values = (np.array([one[k] for one in designs]) for k in (0, 1, 3))
    width = np.array([one.width for one in designs])[design]
    rest = prior / (total - float(prior[measured[:1]].sum()))
    return _Public(measured, rest, priors, design, edges, starts, values, width, words[:, 0], words[:, 1])


def _measured(defense: RecordOrder, n_classes: int) -> Integers:
    """The classes that get a part of epsilon: the positive one, the second of two, or all."""
    if defense.positive is not None:
        if defense.positive >= n_classes:
            raise SettingError(f"positive={defense.positive}, but classes go from 0 to {n_classes - 1}")
        return np.array([defense.positive])
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)


def _cells(shares: Array, public: _Public) -> Integers:
    """The cell that each score lies in: halving, as cells are a power of two."""
    cells = np.zeros(shares.shape, dtype=np.int64)
    step = CELLS // 2
    while step:
        cells += step * (shares >= public.edges[public.design, cells + step])
        step //= 2
    return cells


def _filled_in(told: Array, public: _Public) -> Array:
    """Probability vectors: classes that were not measured share what is left, as the prior says."""
    if len(public.measured) == len(public.rest):
        return np.asarray(told / told.sum(axis=1, keepdims=True))
    made = (1.0 - told) * public.rest
    made[:, public.measured] = told
    return np.asarray(made)


def fit_prior(rows: Floats, measured: Integers) -> tuple[float, ...]:
    """A Dirichlet distribution by the means of all classes and the variance of those that are measured."""
    mean = rows.mean(axis=0, dtype=np.float64)
    spread, variance = mean * (1 - mean), rows.var(axis=0, dtype=np.float64)
    strength = np.clip(spread[measured].sum() / max(float(variance[measured].sum()), 1e-12) - 1, 0.01, 1e4)
    digits = 3 if len(mean) == 2 else 2  # each number needs windows of its own
    return tuple(float(f"{max(number, LEAST):.{digits}g}") for number in mean * strength)
