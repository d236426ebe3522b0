"""Ordered-DP: the exact ranking, and magnitudes under pure differential privacy. The proof: docs/ordered_dp.md."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_positive, check_whole
from privee.defenses.discrete_laplace import GRID, add_noise
from privee.defenses.inverse import project_to_simplex
from privee.defenses.ordered_shape import DEFAULT_TAIL, FLOOR, fill_tail, fit_prior, fit_tail, top_values
from privee.defenses.registry import register
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores import ascending, check_rows, place, rise_where, to_rows
from privee.scores.forms import Floats

Array = NDArray[np.float64]
SMALLEST_EPSILON = 1e-3
TINY = float(np.finfo(np.float64).tiny)
UNASKED = "its scores mean something, at a cost in epsilon; nothing in the wishes asks for that"
WEAK = 16.0
"""From here on, epsilon by itself promises little."""


@register
@dataclasses.dataclass(frozen=True)
class OrderedDP(Defense):
    """A probability vector with the scores' ranking, epsilon-indistinguishable for any scores with that ranking.

    Args:
        epsilon: of one release; 0.001 or more (towards 0 this becomes ranking-only).
        spend: "top" puts all of epsilon on the top score and fills in the rest by rank, which moves scores least;
            "all" puts noise on every weight, so that all scores come through as epsilon grows.
        keep_top: reveal the ranking of this many leading classes only; the rest share what is left equally.
        tail: how fast filled-in scores fall with rank (see `fill_tail`).
        prior: of the top score, see `top_values`; makes the released top score calibrated if the model's is.

    Example:
        >>> OrderedDP(epsilon=8.0).guarantee(10).same
        'any two score vectors with the same ranking'
    """

    name: ClassVar[str] = "ordered-dp"
    place: ClassVar[int] = 60
    preserves_order: ClassVar[bool] = True
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "exact ranking, differentially private magnitudes"
    example: ClassVar[str] = "ordered-dp:epsilon=8"
    audited: ClassVar[tuple[str, ...]] = ("ordered-dp:epsilon=4", "ordered-dp:epsilon=32")
    advice: ClassVar[Advice] = Advice(
        keeps=("class", "top", "ranking"),
        meaningful=True,
        wins="shows the order of the leading classes and nothing of the others'; the smallest epsilon tried is "
        "enough where scores need not mean anything",
        loses={
            "class": UNASKED,
            "top": UNASKED,
            "ranking": UNASKED,
            "records": "shows the predicted class as it is: its epsilon covers only what is left beside that",
        },
        learns="tail and prior",
    )

    epsilon: float
    spend: Literal["top", "all"] = "top"
    keep_top: int | None = None
    tail: float = DEFAULT_TAIL
    prior: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon)
        if self.epsilon < SMALLEST_EPSILON:
            raise SettingError(f"epsilon must be {SMALLEST_EPSILON:g} or more (ranking-only is the limit at 0)")
        if self.spend not in ("top", "all"):
            raise SettingError(f"spend must be 'top' or 'all', got {self.spend!r}")
        if self.keep_top is not None:
            check_whole(1, 1_000_000, keep_top=self.keep_top)
            object.__setattr__(self, "preserves_order", False)  # of the leading classes only
        if isinstance(self.tail, bool) or not isinstance(self.tail, (int, float)) or not 0 <= self.tail <= 10:
            raise SettingError(f"tail must be a number from 0 to 10, got {self.tail!r}")
        if self.prior is not None:
            _check_prior(self.prior, self.spend)

    @classmethod
    def fitted(cls, epsilon: float, scores: Any, **settings: Any) -> OrderedDP:
        """With `tail` and `prior` learned from scores that are public or the active party's own to give."""
        rows, _ = to_rows(scores)
        check_rows(rows)
        falling = ascending(rows)[1][:, ::-1].astype(np.float64)
        return cls(epsilon, tail=fit_tail(falling), prior=fit_prior(falling), **settings)

    @classmethod
    def within(cls, epsilon: float, *, keep_top: int | None, public: Any = None) -> OrderedDP:
        """Shaped by public scores if there are any."""
        return cls(epsilon, keep_top=keep_top) if public is None else cls.fitted(epsilon, public, keep_top=keep_top)

    @property
    def learned_by(self) -> str:
        """The call of `fitted`, where there is a prior: one is never set but by learning it."""
        top = "" if self.keep_top is None else f", keep_top={self.keep_top}"
        return "" if self.prior is None else f"privee.OrderedDP.fitted({self.epsilon:g}, public_scores{top})"

    def step(self, n_classes: int) -> float:
        """What one step on the grid costs: epsilon over the largest distance between two inputs, in grid steps."""
        return self.epsilon / (GRID - GRID // n_classes if self.spend == "top" else 2 * GRID + n_classes)

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        order, rising = ascending(rows)
        spent = _spent_on_top if self.spend == "top" else _spent_on_all
        made = spent(self, rising, np.maximum(sums, TINY), draws)
        pattern = None
        if self.keep_top is not None and self.keep_top < rows.shape[1]:
            hidden = rows.shape[1] - self.keep_top
            made[:, :hidden] = made[:, :hidden].mean(axis=1, keepdims=True)
            order, pattern = _without_order(order, hidden), _rises_after(hidden, rows)
        # The scores take no part in the repair: even whether two of them were equal must not show.
        return place(order, rise_where(pattern, made.astype(rows.dtype, copy=False)))

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        """The release is a probability vector made to be near the scores; what its own prior says is in it already."""
        return rows.copy()

    @property
    def monotone(self) -> bool:
        """Also where the order of the leading classes alone is shown: the rest stands below them."""
        return True

    def guarantee(self, n_classes: int) -> Guarantee:
        """Pure differential privacy of the magnitudes, given the ranking."""
        k = self.keep_top if self.keep_top is not None and self.keep_top < n_classes else None
        ranking = "ranking" if k is None else f"top-{k} ranking"
        known = {None: "the ranking itself", 1: "the predicted class"}.get(k, f"the ranking of the {k} leading classes")
        weak = (f"an epsilon of {WEAK:g} or more promises little by itself; the measured attack error carries",)
        costs = ("T fresh releases cost T times epsilon", *(weak if self.epsilon >= WEAK else ()))
        return Guarantee(
            proven=f"{self.epsilon:g}-differential privacy of the magnitudes, given the {ranking}",
            same=f"any two score vectors with the same {ranking}",
            epsilon=self.epsilon,
            delta=0.0,
            assumptions=() if self.prior is None else ("the prior was not learned from the records it is used for",),
            not_covered=(known, asked_again(n_classes, k), *costs),
            figures={"noise_scale": 1 / (GRID * self.step(n_classes)), "grid_step": 1 / GRID},
        )


def _check_prior(prior: tuple[float, float], spend: str) -> None:
    if spend != "top":
        raise SettingError("a prior is for spend='top'")
    if len(prior) != 2:
        raise SettingError(f"prior must be the two parameters of a Beta distribution, got {len(prior)} numbers")
    check_positive(prior=prior[0])
    check_positive(prior=prior[1])


def _spent_on_top(defense: OrderedDP, rising: Floats, sums: Array, draws: Draws) -> Array:
    """Noise on the top score alone; everything else follows from it and from rank."""
    n_classes = rising.shape[1]
    step = defense.step(n_classes)
    top = (rising[:, -1] / sums * GRID).astype(np.int64)  # rounded down
    np.minimum(top, GRID, out=top)
    noisy = add_noise(np.maximum(top, GRID // n_classes, out=top), step, draws)
    made = np.empty(rising.shape)
    made[:, -1] = top_values(n_classes, step, defense.prior)[noisy]
    made[:, -2::-1] = fill_tail(made[:, -1:], n_classes, defense.tail, alone=draws.by_row)
    return made


def _spent_on_all(defense: OrderedDP, rising: Floats, sums: Array, draws: Draws) -> Array:
    """Noise on all weights w_k = k (s_k - s_(k+1)), which form a probability vector; any positive ones keep order."""
    falling = rising[:, ::-1] / sums[:, None]
    ranks = np.arange(1, rising.shape[1] + 1)
    weights = ranks * -np.diff(falling, axis=1, append=0.0)
    on_grid = np.clip(np.rint(weights * GRID), 0, GRID).astype(np.int64)
    private = project_to_simplex(add_noise(on_grid, defense.step(rising.shape[1]), draws) / GRID)
    private += FLOOR * (1 / rising.shape[1] - private)
    return np.asarray(np.cumsum((private / ranks)[:, ::-1], axis=1))


def _without_order(order: NDArray[np.intp], hidden: int) -> NDArray[np.intp]:
    """The places of the hidden classes by index: which of them had the higher score does not show."""
    found = order.copy()
    found[:, :hidden].sort(axis=1)
    return found


def _rises_after(hidden: int, rows: Floats) -> Floats:
    """A pattern that asks for a rise from the last hidden class on."""
    pattern = np.arange(rows.shape[1]).clip(hidden - 1)
    return np.broadcast_to(pattern, rows.shape).astype(rows.dtype)
