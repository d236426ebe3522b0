"""OP-epsilon (Roy Chowdhury, Ding, Jha, Liu, Zhou 2022): intervals drawn by a DP mechanism, then encrypted in order.

[0, 1] is cut into equal parts. A score x becomes the part i with probability proportional to exp(-|x - d_i| epsilon /
2), d_i its centre, and the centre is encrypted with our order-preserving scheme. (From the abstract and a
re-implementation: the paper may cut its domain otherwise.) In whole numbers on a grid:
`privee.defenses.exponential_mechanism`.

What is proven. For one score this is epsilon |x - x'|-indistinguishable: distance-based local differential privacy,
where epsilon is for scores as far apart as 0 and 1. Losses of K scores add up, and two score vectors are at most 2
apart in L1 norm: 2 epsilon at most for whole vectors, of any ranking. That is not tight (all scores below the first
centre look alike), so the largest loss is found by a linear program over pairs of grid values, whose dual is a proof.
`guarantee` gives that number, which is the one to compare with other defenses' epsilon. Encryption adds nothing to it,
and hides nothing: a ciphertext is nearly proportional to its plaintext (`ope`), and there are only so many of them.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.baselines.ope.interval_posterior import posterior_mean
from privee.baselines.ope.order_preserving import OrderPreservingEncryption
from privee.defenses.base import Defense, Guarantee, check_positive, check_whole
from privee.defenses.exponential_mechanism import Integers, falling_weights, largest_loss, losses, share_of, step_for
from privee.defenses.registry import register
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores.forms import Floats

Array = NDArray[np.float64]
CIPHERTEXT_BITS = 48
LEAST_STEPS = 400
MOST_EPSILON = 1e5
SMALLEST_EPSILON = 1e-3
TINY = float(np.finfo(np.float64).tiny)


@register
@dataclasses.dataclass(frozen=True)
class OpEpsilon(Defense):
    """Each score as the encrypted centre of an interval that is drawn by how near it is. Breaks the ranking.

    Args:
        epsilon: for one score and a distance of 1, as published; `guarantee` says what a whole vector has.
        partitions: how many intervals.
        key_file: at least 16 secret bytes for the encryption; without it (and without `seed`) a fresh key is made.
        seed: for experiments only: a key that anyone can make again.

    Example:
        >>> OpEpsilon(epsilon=2.0).guarantee(10).same
        'any two score vectors'
    """

    name: ClassVar[str] = "op-epsilon"
    place: ClassVar[int] = 94
    summary: ClassVar[str] = "intervals drawn under DP, then order-preserving encryption (Roy Chowdhury et al.)"
    example: ClassVar[str] = "op-epsilon:epsilon=2"

    epsilon: float
    partitions: int = 10
    key_file: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon)
        check_whole(2, 1000, partitions=self.partitions)
        if not SMALLEST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise SettingError(f"epsilon must lie from {SMALLEST_EPSILON:g} to {MOST_EPSILON:g}, got {self.epsilon:g}")
        ope = OrderPreservingEncryption(24, CIPHERTEXT_BITS, self.key_file, self.seed)
        object.__setattr__(self, "_ope", ope)  # no field: it is not a setting
        centres = (np.arange(self.partitions) + 0.5) / self.partitions
        object.__setattr__(self, "_shown", ope.encrypt(np.stack([centres, centres]))[0] * 2.0**-CIPHERTEXT_BITS)

    @classmethod
    def for_vector(cls, epsilon: float, n_classes: int, **settings: Any) -> OpEpsilon:
        """With the published epsilon that gives whole vectors of this many classes the given one."""
        partitions = cls(1.0, **settings).partitions
        each = step_for(epsilon, lambda tried: _whole_vector(tried, partitions, n_classes), 4 * epsilon)
        return cls(each, **settings)

    def decrypt_release(self, release: Any) -> Array:
        """The centres of the drawn intervals, for whoever holds the key."""
        return self._holder.decrypt_release(release).round(6)

    def _release(self, rows: Floats, sums: Array, draws: Draws) -> Floats:
        public = _public(self.epsilon, self.partitions)
        shares = rows / np.maximum(sums, TINY)[:, None]
        values = np.clip(shares * public.grid, 0, public.grid).astype(np.int64)  # rounded down
        words = draws.words(values.size).reshape(values.shape)
        at = share_of(words, public.below[values, -1].astype(np.uint64))
        drawn = (at[..., None] >= public.below[values][..., :-1]).sum(axis=-1)
        shown: Array = self.__dict__["_shown"]
        return np.asarray(shown[drawn], dtype=rows.dtype)

    def _estimate(self, rows: Array) -> Floats:
        """The interval can be read off; then the mean of score vectors that come out there, flat or confident ones."""
        drawn = np.clip(rows * self.partitions, 0, self.partitions - 1).astype(np.int64)
        return posterior_mean(drawn, _chances(_public(self.epsilon, self.partitions)))

    def guarantee(self, n_classes: int) -> Guarantee:
        """Distance-based local differential privacy of a score; pure differential privacy of the whole vector."""
        whole = _whole_vector(self.epsilon, self.partitions, n_classes)
        return Guarantee(
            proven=f"{whole:.4g}-differential privacy of the whole score vector, its ranking and class included",
            same="any two score vectors",
            epsilon=whole,
            delta=0.0,
            not_covered=(
                "T fresh releases cost T times epsilon",
                "the ranking and the predicted class can change",
                "encryption hides nothing more: the interval can be read off the ciphertext",
            ),
            figures={"epsilon_per_score_and_distance": self.epsilon, "partitions": self.partitions},
        )

    def public_copy(self) -> OpEpsilon:
        """With a key of its own."""
        return dataclasses.replace(self, key_file=None, seed=None)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), dataclasses.astuple(self)

    @property
    def _holder(self) -> OrderPreservingEncryption:
        holder: OrderPreservingEncryption = self.__dict__["_ope"]
        return holder


class _Public(NamedTuple):
    """Steps in all, and by true value the weights of the intervals summed up."""

    grid: int
    below: Integers


@functools.lru_cache(maxsize=256)
def _public(epsilon: float, partitions: int) -> _Public:
    half = -(-LEAST_STEPS // (2 * partitions))  # of a part, in steps: centres are on the grid
    grid = 2 * half * partitions
    weights = falling_weights(epsilon / (2 * grid), grid + 1)
    centres = half * (2 * np.arange(partitions) + 1)
    far = np.abs(np.arange(grid + 1)[:, None] - centres)
    far -= far.min(axis=1, keepdims=True)  # as likely, and the nearest has the largest weight there is
    return _Public(grid, np.cumsum(weights[far], axis=1))


def _chances(public: _Public) -> Array:
    """Of every interval (columns) from every true value (rows)."""
    return np.asarray(np.diff(public.below, axis=1, prepend=0) / public.below[:, -1:])


@functools.lru_cache(maxsize=256)
def _whole_vector(epsilon: float, partitions: int, n_classes: int) -> float:
    return largest_loss(losses(_chances(_public(epsilon, partitions))), n_classes)
