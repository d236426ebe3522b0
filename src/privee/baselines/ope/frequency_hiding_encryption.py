"""Frequency-hiding order-preserving encryption as a defense. See docs/encrypted_order.md.

What ciphertexts give away that can be compared across vectors: nearly the scores themselves.

The ciphertexts of all vectors, ranked together, are the scores up to one unknown rising function f of that rank. Each
vector says that its scores sum to one: sum_j f(rank_ij) = 1, one linear equation in f. With f piecewise linear this is
least squares with steps that must not be negative. The lowest score of all is taken to be zero (without such an anchor
a constant f would do); where the equations leave f open (two classes), it is that of the flat prior.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.baselines.ope.frequency_hiding_state import BITS, FrequencyHidingState, locked
from privee.baselines.ope.search_tree import NO_ROOM, fill_gaps, turns
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee
from privee.defenses.ranking_only import RankingOnly
from privee.defenses.registry import register
from privee.defenses.secret_keys import read_key
from privee.errors import PriveeError, SettingError
from privee.randomness import Draws, secure
from privee.scores import ascending, check_release, check_rows, place, rise_where, to_rows
from privee.scores.forms import Floats

Integers = NDArray[np.int64]


@register
@dataclasses.dataclass(frozen=True)
class FrequencyHidingEncryption(Defense):
    """Puts scores into a search tree; a score's ciphertext is the middle of its gap (Kerschbaum 2015).

    Equal scores get different ciphertexts. Within a vector the one with the lower index gets the higher ciphertext, so
    that the release has the scores' ranking. The release is the ciphertext over 2**52.

    Args:
        state_file: one tree for all vectors, kept encrypted in this file and locked while in use, so that ciphertexts
            of different vectors can be compared, and decrypted. Without it every vector gets a tree of its own, and
            the release depends on its ranking and fresh draws alone.
        key_file: at least 16 secret bytes (see `privee.new_key`) that encrypt the state file. It is read for every use.

    Example:
        >>> release = FrequencyHidingEncryption().release([0.7, 0.1, 0.1, 0.1])
        >>> bool(release[0] > release[1] > release[2] > release[3])
        True
    """

    name: ClassVar[str] = "fh-ope"
    place: ClassVar[int] = 91
    preserves_order: ClassVar[bool] = True
    summary: ClassVar[str] = "frequency-hiding order-preserving encryption (Kerschbaum); equal scores look different"

    state_file: str | None = None
    key_file: str | None = None

    def __post_init__(self) -> None:
        if (self.state_file is None) != (self.key_file is None):
            raise SettingError("state_file and key_file go together: the state is kept encrypted under the key")
        for value in (self.state_file, self.key_file):
            if value is not None and (not isinstance(value, str) or not value):
                raise SettingError("state_file and key_file must be names of files")

    def encrypt(self, scores: Any, *, draws: Draws | None = None) -> NDArray[np.uint64]:
        """Put scores, one vector or a batch, into the shared state; their ciphertexts."""
        rows, form = to_rows(scores)
        check_rows(rows, check_sum=False)
        order, _ = ascending(rows)
        found = np.empty(rows.shape, dtype=np.uint64)
        found.reshape(-1)[order] = self._in_shared_tree(rows, secure() if draws is None else draws)
        return found[0] if form.one_vector else found

    def decrypt(self, ciphertexts: Any) -> NDArray[np.float64]:
        """The exact scores behind ciphertexts of the state's present epoch."""
        return self.state().decrypt(ciphertexts)

    def decrypt_release(self, release: Any) -> NDArray[np.float64]:
        """The exact scores behind a float64 release, if no later release made the tree's ciphertexts new."""
        rows, form = to_rows(release)
        check_release(rows)
        if rows.dtype != np.float64:
            raise PriveeError("only float64 releases hold whole ciphertexts; release float64 scores")
        found = self.decrypt(np.rint(np.clip(rows, -1.0, 2.0) * 2.0**BITS).astype(np.int64))
        return found[0] if form.one_vector else found

    def state(self) -> FrequencyHidingState:
        """The shared state as it is now: it holds every score ever released."""
        with self._open_state() as state:
            return state

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        order, _ = ascending(rows)
        made = _in_own_trees(rows.shape, draws) if self.state_file is None else self._in_shared_tree(rows, draws)
        # The scores take no part in the repair: even whether two of them were equal must not show.
        return place(order, rise_where(None, (made * 2.0**-BITS).astype(rows.dtype)))

    def _release_in_blocks(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        """One block for a shared state: it is opened once, and a spread in between cannot come between two rows."""
        if self.state_file is None:
            return super()._release_in_blocks(rows, sums, draws)
        return self._release(rows, sums, draws)

    def _in_shared_tree(self, rows: Floats, draws: Draws) -> Integers:
        """Ascending ciphertexts of rows in the shared state, which is saved before they are returned."""
        if not rows.size:
            return np.empty(rows.shape, dtype=np.int64)
        with self._open_state() as state:
            made = state.encrypt(rows.astype(np.float64), draws)
            state.save(*self._files())
        return np.sort(made, axis=1)

    def public_copy(self) -> Defense:
        """With a tree of its own for every batch, where others share one."""
        return self if self.state_file is None else _OwnSharedTree(self.state_file, self.key_file)

    @contextlib.contextmanager
    def _open_state(self) -> Iterator[FrequencyHidingState]:
        path, key = self._files()
        with locked(path):
            yield FrequencyHidingState.load(path, key) if path.exists() else FrequencyHidingState()

    def _files(self) -> tuple[Path, bytes]:
        if self.state_file is None or self.key_file is None:
            raise PriveeError("every vector had a tree of its own, which is not kept; give state_file and key_file")
        return Path(self.state_file), read_key(self.key_file)

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        if self.state_file is None or len(rows) < FEWEST_ROWS:
            return RankingOnly()._estimate(rows)
        return fit_scores(rows)

    def guarantee(self, n_classes: int) -> Guarantee:
        """With a tree per vector that of the ranking alone; next to nothing with one tree for all."""
        if self.state_file is None:
            return dataclasses.replace(RankingOnly().guarantee(n_classes), figures={"ciphertext_bits": BITS})
        return Guarantee(
            proven="the releases depend on the order of all scores of all vectors alone",
            same="batches of score vectors with the same order across all vectors",
            assumptions=("the state file and its key stay secret",),
            not_covered=(
                "the ranking within and across vectors",
                asked_again(n_classes),
                "from some hundred vectors on nearly every score: the order across vectors and sums of one fix them",
            ),
            figures={"ciphertext_bits": BITS},
        )


class _OwnSharedTree(FrequencyHidingEncryption):
    """What somebody without the state makes of the scheme: one fresh tree for all vectors of a batch."""

    def _in_shared_tree(self, rows: Floats, draws: Draws) -> Integers:
        return np.sort(FrequencyHidingState().encrypt(rows.astype(np.float64), draws), axis=1)


def _in_own_trees(shape: tuple[int, ...], draws: Draws) -> Integers:
    """Ascending ciphertexts of rows, each in a tree of its own; nothing but ranks goes in."""
    rows, classes = shape
    turn = turns(draws.words(rows * classes))
    low, high = np.zeros(turn.size, dtype=np.int64), np.full(turn.size, 1 << BITS)
    made = fill_gaps(np.repeat(np.arange(rows), classes), low, high, turn).reshape(shape)
    for row in np.flatnonzero((made == NO_ROOM).any(axis=1)):  # beyond some 100,000 classes
        state = FrequencyHidingState(bits=BITS)
        state.insert(np.arange(classes, dtype=np.float64), np.zeros(classes, np.uint64), turn.reshape(shape)[row])
        made[row] = state.ciphertexts
    return made


Array = NDArray[np.float64]

FEWEST_ROWS = 8
"""Below that, equations are too few for more than each vector's own ranking."""
MOST_ROWS = 4000
PRIOR_WEIGHT = 0.01


def fit_scores(rows: Array) -> Array:
    """Scores of (n, K) rows whose entries can be compared across rows."""
    ranks = _pooled_ranks(rows)
    knots = _knots(rows.size)
    equations = ranks[:: -(-len(ranks) // MOST_ROWS)]
    heights = np.concatenate([[0.0], np.cumsum(_steps(equations, knots))])
    found = np.interp(ranks, knots, heights) + np.finfo(np.float64).tiny  # above zero, also for a row of lowest scores
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _pooled_ranks(rows: Array) -> Array:
    """Each entry's place among all entries, between 0 and 1."""
    ranks = np.empty(rows.size)
    ranks[np.argsort(rows, axis=None, kind="stable")] = (np.arange(rows.size) + 0.5) / rows.size
    return ranks.reshape(rows.shape)


def _knots(entries: int) -> Array:
    """A coarse grid, and ever finer steps towards the top, where scores rise most."""
    towards_top = 1 - np.geomspace(1.0, 1 / entries, 41)
    return np.unique(np.concatenate([np.linspace(0, 1, 11), towards_top]))


def _steps(ranks: Array, knots: Array) -> Array:
    """Heights of the steps between knots, none of them negative, that make rows sum to one."""
    from scipy.optimize import nnls  # here, so that importing privee stays fast

    width = np.diff(knots)
    sums = [np.clip((ranks - left) / w, 0.0, 1.0).sum(axis=1) for left, w in zip(knots[:-1], width, strict=True)]
    prior = np.diff(1 - (1 - knots) ** (1 / (ranks.shape[1] - 1)))  # quantiles of one score under the flat prior
    weight = PRIOR_WEIGHT / np.sqrt(prior)
    matrix = np.concatenate([np.stack(sums, axis=1), np.diag(weight)])
    steps, _ = nnls(matrix, np.concatenate([np.ones(len(ranks)), weight * prior]), maxiter=100 * len(knots))
    return np.asarray(steps, dtype=np.float64)
