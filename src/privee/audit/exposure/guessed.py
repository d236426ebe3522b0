"""What guesses tell of every private column: the same for every attack on the same records, and so worked out once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.audit.exposure.findings import Bound
from privee.audit.exposure.paired_auc import Placements, placements, share_below, top_precision
from privee.data.columns import SourceColumn

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEWEST = 3
"""A question is asked if it holds for so many records, and for so many it does not."""
PARTS = {0.1: "above the lowest tenth", 0.5: "in the upper half", 0.9: "in the top tenth"}


class GuessedQuestion(NamedTuple):
    """A yes/no question: its words, the feature that answers it, for whom it holds, and the best guesses at it."""

    words: str
    place: int
    holds: Flags
    best: Placements
    precision: float


class GuessedColumn(NamedTuple):
    """A column that varies: its truth, the guess that an attack has to beat, and what that tells.

    `correlation` is the best one of any guess, of a number alone.
    """

    number: int
    column: SourceColumn
    true: Array
    best: Array
    grasp: Grasp
    correlation: float | None
    questions: tuple[GuessedQuestion, ...]


REMEMBERED = 4
_remembered: dict[bytes, tuple[GuessedColumn, ...]] = {}
"""The last ones in this process."""


def guessed_columns(
    truth: Array, guesses: Mapping[str, Array], columns: Sequence[SourceColumn], bound: Bound
) -> tuple[GuessedColumn, ...]:
    """Every column that varies; see `measure`."""
    digest = hashlib.blake2b(repr((truth.shape, list(guesses), columns, bound)).encode())
    for values in (truth, *guesses.values()):
        digest.update(np.ascontiguousarray(values).tobytes())
    key = digest.digest()
    found = _remembered.pop(key, None) or tuple(_all(truth, guesses, columns, bound))
    _remembered[key] = found  # at the end: the first is the one not used for longest
    while len(_remembered) > REMEMBERED:
        del _remembered[next(iter(_remembered))]
    return found


def _all(
    truth: Array, guesses: Mapping[str, Array], columns: Sequence[SourceColumn], bound: Bound
) -> Iterator[GuessedColumn]:
    for number, column in enumerate(columns):
        places = list(column.places)
        true = truth[:, places]
        if not np.ptp(true, axis=0).any():
            continue  # the same for everyone here: nothing to tell
        told = [guess[:, places] for guess in guesses.values()]
        best = min(told, key=lambda guess: square(guess, true).mean())
        one = column.kind == "number"
        related = max(correlation(guess[:, 0], true[:, 0]) for guess in told) if one else None
        asked = tuple(_asked(column, true, told))
        yield GuessedColumn(number, column, true, best, Grasp.of(best, true, column, bound), related, asked)


def _asked(column: SourceColumn, true: Array, guesses: Sequence[Array]) -> Iterator[GuessedQuestion]:
    for words, place, holds in questions(column, true):
        best = max((placements(guess[:, place], holds) for guess in guesses), key=lambda p: p.auc)
        precision = max(top_precision(guess[:, place], holds) for guess in guesses)
        yield GuessedQuestion(words, place, holds, best, precision)


def questions(column: SourceColumn, true: Array) -> Iterator[tuple[str, int, Flags]]:
    """Yes/no questions about a column: its words, the feature that answers it, and for whom it holds.

    A category is asked for each of its values, a yes/no column once, and a number for parts of its range.
    """
    if column.kind == "category":
        asked = [(words, place, true[:, place] > 0.5) for place, words in enumerate(column.values)]
        if len(asked) == 2:
            asked = asked[1:]  # the other one is its mirror image
    elif len(np.unique(true)) == 2:
        asked = [("yes", 0, true[:, 0] > true.min())]
    else:
        asked = list(_parts(true[:, 0]))
    for words, place, holds in asked:
        if FEWEST <= holds.sum() <= len(holds) - FEWEST:
            yield words, place, holds


def _parts(values: Array) -> Iterator[tuple[str, int, Flags]]:
    """Parts of a number's range; where one value is very frequent, what lies above it."""
    cuts = dict(zip(np.quantile(values, list(PARTS), method="lower").tolist(), PARTS.values(), strict=True))
    for cut, words in cuts.items():  # of equal ones, the highest part's words
        yield ("above its smallest value" if cut == values.min() else words), 0, values > cut


def square(estimate: Array, true: Array) -> Array:
    """How far off each record is: squares, summed over a column's features."""
    return np.asarray(np.square(estimate - true).sum(axis=1))


def correlation(estimate: Array, true: Array) -> float:
    """Spearman's; 0 for an estimate that is the same for everyone."""
    if np.ptp(estimate) == 0 or np.ptp(true) == 0:
        return 0.0
    return float(np.corrcoef(share_below(estimate, estimate), share_below(true, true))[0, 1])


class Grasp(NamedTuple):
    """How well a column is known, of every person: within the bound, far off, and the square error."""

    known: Flags
    far_off: Flags
    missed: Array

    @classmethod
    def of(cls, estimate: Array, true: Array, column: SourceColumn, bound: Bound) -> Grasp:
        """A value that was never seen before is known of nobody."""
        missed = square(estimate, true)
        if column.kind == "category":
            given = np.where(true.sum(axis=1) > 0.5, (estimate * true).sum(axis=1), 0.0)
            return cls(given >= bound.certainty, given < 0.5, missed)
        off = np.abs(estimate - true)[:, 0]
        if len(np.unique(true)) == 2:
            off = off / np.ptp(true)
            return cls(off <= 1.0 - bound.certainty, off > 0.5, missed)
        return cls(off <= bound.number, off > 2 * bound.number, missed)
