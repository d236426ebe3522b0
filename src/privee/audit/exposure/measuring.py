"""From estimates and the truth to figures of every private column: errors, questions told, people known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.audit.exposure.findings import Bound, ColumnFinding, PeopleFinding, QuestionFinding
from privee.audit.exposure.guessed import (
    Flags,
    Grasp,
    GuessedColumn,
    GuessedQuestion,
    correlation,
    guessed_columns,
    square,
)
from privee.audit.exposure.paired_auc import chance_if_few, difference_error, placements, top_precision
from privee.data.columns import SourceColumn

Array = NDArray[np.float64]

SUREST = 0.05
"""The one in twenty about whom the release says most."""


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
    for guessed in guessed_columns(truth, guesses, columns, bound):
        told = estimate[:, list(guessed.column.places)]
        mine = Grasp.of(told, guessed.true, guessed.column, bound)
        found.append(_column(guessed, told, mine.known))
        people.add(mine, guessed.grasp, square(told, guessed.best))
    return Measured(tuple(found), people.finding())


def _column(guessed: GuessedColumn, estimate: Array, known: Flags) -> ColumnFinding:
    true, best = guessed.true, guessed.best
    missed, guess_missed = square(estimate, true), guessed.grasp.missed
    error, guess_error = float(missed.mean()), float(guess_missed.mean())
    ratio = error / guess_error if guess_error > 0 else 1.0
    sure = _most(square(estimate, best))
    guess_known = guessed.grasp.known
    return ColumnFinding(
        column=guessed.number,
        rows=len(true),
        error=error,
        guess_error=guess_error,
        gain_se=_standard_error(guess_missed - missed),
        ratio_se=_standard_error(missed - ratio * guess_missed) / guess_error if guess_error > 0 else 0.0,
        correlation=None if guessed.correlation is None else correlation(estimate[:, 0], true[:, 0]),
        guess_correlation=guessed.correlation,
        known=float(known.mean()),
        guess_known=float(guess_known.mean()),
        surest=float(missed[sure].sum() / guess_missed[sure].sum()) if guess_missed[sure].sum() > 0 else 1.0,
        surest_known=float(known[sure].mean()),
        guess_surest_known=float(guess_known[sure].mean()),
        questions=tuple(_answer(asked, estimate[:, asked.place]) for asked in guessed.questions),
    )


def _answer(asked: GuessedQuestion, estimate: Array) -> QuestionFinding:
    mine, theirs = placements(estimate, asked.holds), asked.best
    return QuestionFinding(
        words=asked.words,
        positives=int(asked.holds.sum()),
        auc=mine.auc,
        auc_se=mine.error,
        guess_auc=theirs.auc,
        gain_se=difference_error(mine, theirs),
        chance=chance_if_few(mine, theirs),
        precision=top_precision(estimate, asked.holds),
        guess_precision=asked.precision,
    )


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


class _People:
    """Gathers, over columns, of whom something is known."""

    def __init__(self) -> None:
        self._known: list[tuple[Flags, Flags]] = []
        self._changed: list[tuple[Flags, Flags]] = []
        self._missed: list[tuple[Array, Array]] = []
        self._moved: list[Array] = []

    def add(self, mine: Grasp, theirs: Grasp, moved: Array) -> None:
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
