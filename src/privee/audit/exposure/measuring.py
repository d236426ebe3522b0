"""From estimates and the truth to figures of every private column: errors, questions told, people known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.audit.exposure.findings import Bound, ColumnFinding, PeopleFinding, QuestionFinding
from privee.audit.exposure.paired_auc import chance_if_few, difference_error, placements, share_below, top_precision
from privee.data.columns import SourceColumn

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEWEST = 3
"""A question is asked if it holds for so many records, and for so many it does not."""
SUREST = 0.05
"""The one in twenty about whom the release says most."""
PARTS = {0.1: "above the lowest tenth", 0.5: "in the upper half", 0.9: "in the top tenth"}


class Measured(NamedTuple):
    """What one attack tells, by column and about people."""

    columns: tuple[ColumnFinding, ...]
    people: PeopleFinding


def measure(
    estimate: Array, truth: Array, guesses: Mapping[str, Array], columns: Sequence[SourceColumn], bound: Bound
) -> Measured:
    """One finding per column that varies, and how many people are known.

    Args:
        estimate: the unknown columns as an attack sees them, (n, features).
        truth: as they are.
        guesses: as they can be guessed without a release; the best one of each column is what an attack has to beat.
        columns: the original columns that the features belong to.
        bound: when a column of a person is known.
    """
    found, people = [], _People()
    for number, column in enumerate(columns):
        places = list(column.places)
        true = truth[:, places]
        if not np.ptp(true, axis=0).any():
            continue  # the same for everyone here: nothing to tell
        told = {name: guess[:, places] for name, guess in guesses.items()}
        best = min(told.values(), key=lambda guess: _square(guess, true).mean())
        mine, theirs = (_Grasp.of(values, true, column, bound) for values in (estimate[:, places], best))
        found.append(_column(number, column, estimate[:, places], true, best, told, (mine.known, theirs.known)))
        people.add(mine, theirs, _square(estimate[:, places], best))
    return Measured(tuple(found), people.finding())


def _column(
    number: int,
    column: SourceColumn,
    estimate: Array,
    true: Array,
    best: Array,
    guesses: Mapping[str, Array],
    known: tuple[Flags, Flags],
) -> ColumnFinding:
    missed, guess_missed = _square(estimate, true), _square(best, true)
    error, guess_error = float(missed.mean()), float(guess_missed.mean())
    ratio = error / guess_error if guess_error > 0 else 1.0
    sure = _most(_square(estimate, best))
    one = column.kind == "number"
    return ColumnFinding(
        column=number,
        rows=len(true),
        error=error,
        guess_error=guess_error,
        gain_se=_standard_error(guess_missed - missed),
        ratio_se=_standard_error(missed - ratio * guess_missed) / guess_error if guess_error > 0 else 0.0,
        correlation=_correlation(estimate[:, 0], true[:, 0]) if one else None,
        guess_correlation=max(_correlation(guess[:, 0], true[:, 0]) for guess in guesses.values()) if one else None,
        known=float(known[0].mean()),
        guess_known=float(known[1].mean()),
        surest=float(missed[sure].sum() / guess_missed[sure].sum()) if guess_missed[sure].sum() > 0 else 1.0,
        surest_known=float(known[0][sure].mean()),
        guess_surest_known=float(known[1][sure].mean()),
        questions=tuple(_answers(column, estimate, true, guesses)),
    )


def _answers(
    column: SourceColumn, estimate: Array, true: Array, guesses: Mapping[str, Array]
) -> Iterator[QuestionFinding]:
    for words, place, holds in questions(column, true):
        mine = placements(estimate[:, place], holds)
        theirs = max((placements(guess[:, place], holds) for guess in guesses.values()), key=lambda p: p.auc)
        yield QuestionFinding(
            words=words,
            positives=int(holds.sum()),
            auc=mine.auc,
            auc_se=mine.error,
            guess_auc=theirs.auc,
            gain_se=difference_error(mine, theirs),
            chance=chance_if_few(mine, theirs),
            precision=top_precision(estimate[:, place], holds),
            guess_precision=max(top_precision(guess[:, place], holds) for guess in guesses.values()),
        )


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


def _square(estimate: Array, true: Array) -> Array:
    return np.square(estimate - true).sum(axis=1)


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def _correlation(estimate: Array, true: Array) -> float:
    """Spearman's; 0 for an estimate that is the same for everyone."""
    if np.ptp(estimate) == 0 or np.ptp(true) == 0:
        return 0.0
    return float(np.corrcoef(share_below(estimate, estimate), share_below(true, true))[0, 1])


class _Grasp(NamedTuple):
    """How well a column is known, of every person: within the bound, far off, and the square error."""

    known: Flags
    far_off: Flags
    missed: Array

    @classmethod
    def of(cls, estimate: Array, true: Array, column: SourceColumn, bound: Bound) -> _Grasp:
        """A value that was never seen before is known of nobody."""
        missed = _square(estimate, true)
        if column.kind == "category":
            given = np.where(true.sum(axis=1) > 0.5, (estimate * true).sum(axis=1), 0.0)
            return cls(given >= bound.certainty, given < 0.5, missed)
        off = np.abs(estimate - true)[:, 0]
        if len(np.unique(true)) == 2:
            off = off / np.ptp(true)
            return cls(off <= 1.0 - bound.certainty, off > 0.5, missed)
        return cls(off <= bound.number, off > 2 * bound.number, missed)


class _People:
    """Gathers, over columns, of whom something is known."""

    def __init__(self) -> None:
        self._known: list[tuple[Flags, Flags]] = []
        self._changed: list[tuple[Flags, Flags]] = []
        self._missed: list[tuple[Array, Array]] = []
        self._moved: list[Array] = []

    def add(self, mine: _Grasp, theirs: _Grasp, moved: Array) -> None:
        """One column by the attack and by the guess, and how far the release moved its estimate."""
        unit = max(float(theirs.missed.mean()), 1e-12)
        self._known.append((mine.known, theirs.known))
        self._changed.append((mine.known & theirs.far_off, theirs.known & mine.far_off))
        self._missed.append((mine.missed / unit, theirs.missed / unit))
        self._moved.append(moved / unit)

    def finding(self) -> PeopleFinding:
        """Shares of people of whom it holds for at least one column."""
        if not self._known:
            return PeopleFinding(known=0.0, guess_known=0.0, newly=0.0, lost=0.0)
        known, guess_known, newly, lost = (
            float(np.logical_or.reduce(flags).mean())
            for pairs in (self._known, self._changed)
            for flags in zip(*pairs, strict=True)
        )
        sure = _most(np.sum(self._moved, axis=0))
        mine, theirs = (np.sum(missed, axis=0)[sure].sum() for missed in zip(*self._missed, strict=True))
        share = float(mine / theirs) if theirs > 0 else 1.0
        return PeopleFinding(known=known, guess_known=guess_known, newly=newly, lost=lost, most_exposed=share)


def _most(moved: Array) -> NDArray[np.intp]:
    """The one in twenty whom the release moved most away from the guess: who they are, the attacker can see."""
    count = min(len(moved), max(5, math.ceil(SUREST * len(moved))))
    return np.argsort(-moved, kind="stable")[:count]
