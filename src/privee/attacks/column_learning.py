"""Attacks that learn each private column by itself, with a learner that suits it, from auxiliary rows.

The same learners, given everything but the release, make the guesses that these attacks have to beat: own columns, the
joint model's scores for a first guess of the unknown columns, and that guess itself.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.log_scores import centred
from privee.attacks.regressors import best_fit, cross_fitted
from privee.attacks.release_inputs import ReleaseInputs
from privee.attacks.view import AttackerView, Auxiliary, Seen
from privee.attacks.watch import Watch
from privee.attacks.white_box import WhiteBox
from privee.data.columns import SourceColumn
from privee.errors import PriveeError

Array = NDArray[np.float64]

MOST_COLUMNS = 24
"""So many columns are learned one by one, sensitive ones first, then those that a linear regression tells best."""
MOST_OWN = 64
"""Of more own features, the leading directions stand for all."""
DIRECTIONS = 16
MANY_CLASSES = 20
MOST_EXAMPLES = 10_000
"""Auxiliary rows are simulated less often where that would make more."""


class Learner(Protocol):
    """Learns one column from examples."""

    def __call__(self, inputs: Array, outputs: Array, new: Array, seed: int) -> Array:
        """Estimates for new rows, (n, features of the column): of a category the probabilities of its values."""


class Known(NamedTuple):
    """What can be said about rows without a release: inputs for every column, and a first guess of all features."""

    inputs: Array
    guess: Array


class ColumnAttack(Attack):
    """Shared by the attacks that differ in their learner alone."""

    needs: ClassVar[Needs] = Needs(auxiliary=True)
    by_column: ClassVar[bool] = True
    quick: ClassVar[bool] = True
    adapts: ClassVar[str] = "learns from releases of its own copy of the defense"

    simulations: int = 4
    own_columns: bool = True

    @property
    @abstractmethod
    def learner(self) -> Learner:
        """What learns a column."""

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        rows = view.auxiliary
        if rows is None:
            raise PriveeError(f"{self.name} needs auxiliary rows")
        with torch.no_grad():
            scores = rows.scores(view.model)
        there, here = known_inputs(view.model, view.own, rows)
        show = _Shown(view.model, scores, self.own_columns)
        times = max(1, min(self.simulations, MOST_EXAMPLES // len(rows)))
        with torch.no_grad():
            simulated = view.simulations(rows, scores, times)
        inputs = np.concatenate([show(seen, rows.own, there) for seen in simulated])
        new = show(view.seen, view.own, here)
        outputs = np.tile(rows.unknown.numpy(), (len(simulated), 1))
        guesses = np.tile(there.guess, (len(simulated), 1)), here.guess
        return _learn(self.learner, view.columns, inputs, outputs, new, guesses if self.own_columns else None, watch)


def column_guess(learner: Learner, view: AttackerView) -> Tensor:
    """What the same learner says without the release."""
    rows = view.auxiliary
    if rows is None:
        raise PriveeError("this guess needs auxiliary rows")
    there, here = known_inputs(view.model, view.own, rows)
    guesses = there.guess, here.guess
    return _learn(learner, view.columns, there.inputs, rows.unknown.numpy(), here.inputs, guesses, Watch())


_last_known: dict[bytes, tuple[Known, Known]] = {}
"""What was worked out last in this process: every release of the same records needs it again."""


def known_inputs(model: WhiteBox, own: Tensor, rows: Auxiliary) -> tuple[Known, Known]:
    """Of the auxiliary rows (each as if rows with it had not been there) and of the records under attack."""
    with torch.no_grad():
        parts = (own, rows.own, rows.unknown, model.logits(rows.own, rows.unknown, rows.codes))
    digest = hashlib.blake2b(b"".join(hashlib.blake2b(part.numpy().tobytes()).digest() for part in parts)).digest()
    found = _last_known.get(digest) or _known_inputs(model, own, rows)
    _last_known.clear()
    _last_known[digest] = found
    return found


def _known_inputs(model: WhiteBox, own: Tensor, rows: Auxiliary) -> tuple[Known, Known]:
    fit = best_fit(rows.own, rows.unknown)
    guesses = cross_fitted(rows.own, rows.unknown).clamp(0.0, 1.0), fit(own).clamp(0.0, 1.0)
    middle, turn = rows.own.mean(dim=0), leading_directions(rows.own)
    found = []
    for columns, guess in zip((rows.own, own), guesses, strict=True):
        with torch.no_grad():
            explained = centred(model.logits(columns, guess))
        inputs = torch.cat([(columns - middle) @ turn, _without_mirror(explained)], dim=1)
        found.append(Known(inputs.numpy(), guess.numpy()))
    return found[0], found[1]


def leading_directions(own: Tensor) -> Tensor:
    """What turns own features into those that are learned from: themselves, or few directions where they are many."""
    if own.shape[1] <= MOST_OWN:
        return torch.eye(own.shape[1], dtype=own.dtype)
    return torch.linalg.svd(own - own.mean(dim=0), full_matrices=False)[2][:DIRECTIONS].T


class _Shown:
    """Inputs that hold the release."""

    def __init__(self, model: WhiteBox, scores: Tensor, own_columns: bool) -> None:
        self._own_columns, self._classes = own_columns, model.n_classes
        self._encode = ReleaseInputs(model, scores, own_columns)

    def __call__(self, seen: Seen, own: Tensor, known: Known) -> Array:
        (encoded,) = self._encode([seen], own, torch.from_numpy(known.guess))
        blocks = encoded.split(self._classes, dim=1)
        if self._classes > MANY_CLASSES:
            blocks = (blocks[0], blocks[-2] if self._own_columns else blocks[2])
        shown = [_without_mirror(block) for block in (seen.release, *blocks)]
        given = [torch.from_numpy(known.inputs)] if self._own_columns else []
        return torch.cat([*given, *shown], dim=1).numpy()


def _without_mirror(block: Tensor) -> Tensor:
    """Of two classes one says it all."""
    return block[:, 1:] if block.shape[1] == 2 else block


def _learn(
    learner: Learner,
    columns: Sequence[SourceColumn],
    inputs: Array,
    outputs: Array,
    new: Array,
    guesses: tuple[Array, Array] | None,
    watch: Watch,
) -> Tensor:
    """All columns: one by one where there are few, else the rest by one regression of all at once."""
    from threadpoolctl import threadpool_limits

    found = torch.from_numpy(np.tile(outputs.mean(axis=0), (len(new), 1)))
    chosen = [column for column in columns if np.ptp(outputs[:, list(column.places)], axis=0).any()]
    if len(chosen) > MOST_COLUMNS:
        together = best_fit(torch.from_numpy(inputs), torch.from_numpy(outputs))
        found = together(torch.from_numpy(new)).clamp(0.0, 1.0)
        chosen = told_best(chosen, outputs, together.out_of_sample(torch.from_numpy(inputs)).numpy())
    with threadpool_limits(1):  # small work, which threads that wait for each other make slow
        for k in watch.steps("columns", len(chosen), {"found": found}):
            places = list(chosen[k].places)
            given, asked = inputs, new
            if guesses is not None:
                given, asked = (np.hstack([x, g[:, places]]) for x, g in ((inputs, guesses[0]), (new, guesses[1])))
            found[:, places] = torch.from_numpy(learner(given, outputs[:, places], asked, k).clip(0.0, 1.0))
    return found


def told_best(varied: Sequence[SourceColumn], outputs: Array, told: Array) -> list[SourceColumn]:
    """The sensitive ones, and those that are told best already; all, where they are few."""
    left: Mapping[int, float] = {
        k: float(np.square(told - outputs)[:, list(column.places)].sum() / _spread(outputs[:, list(column.places)]))
        for k, column in enumerate(varied)
    }
    order = sorted(left, key=lambda k: (not varied[k].sensitive, left[k]))
    sensitive = sum(column.sensitive for column in varied)
    return [varied[k] for k in order[: max(MOST_COLUMNS, sensitive)]]


def _spread(values: Array) -> float:
    return float(np.square(values - values.mean(axis=0)).sum())
