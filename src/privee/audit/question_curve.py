"""What each further question about a record can give away, on one model behind one defense.

A question is a request about an entity; a changed record, or other own columns, make a further one of the same entity.
The curve is that of an attacker who picks these own columns (`chosen-columns`): what is left of a guess's error.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from privee.attacks import ChosenColumns
from privee.attacks.metrics import column_mse
from privee.attacks.watch import OnStep, Watch, nothing
from privee.audit.subject import Sample, Subject
from privee.data.columns import SourceColumn
from privee.defenses import Defense
from privee.errors import SettingError

QUESTIONS = (1, 2, 3, 5, 10)
NOTHING_TO_TELL = 0.01
"""A column that is guessed this well, as a share of the mean error, is known anyway and never the worst."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnLeft:
    """A private column, and the share of the guess's error in it that an attacker is left with."""

    name: str
    party: str
    left: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionCurve:
    """What is left after so many questions about each record.

    Attributes:
        subject, defense: what was asked.
        questions: how many, in rising order.
        errors: feature MSE after each of these numbers.
        left: that error as a share of the guess's, at most 1: who would do worse with the answers keeps the guess.
        worst: the column that is told best, after each of these numbers.
        guess: the best of the guesses that need no answer.
        guess_error: its feature MSE.
        records, auxiliary_rows: how many were attacked, and how many the attacker knew in full.
        seed: of the records and of all draws.
        seconds: what it took.
    """

    subject: str
    defense: str
    questions: tuple[int, ...]
    errors: tuple[float, ...]
    left: tuple[float, ...]
    worst: tuple[ColumnLeft, ...]
    guess: str
    guess_error: float
    records: int
    auxiliary_rows: int
    seed: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON; one entry for each number of questions."""
        flat = dataclasses.asdict(self)
        columns = {name: flat.pop(name) for name in ("questions", "errors", "left", "worst")}
        rows = zip(*columns.values(), strict=True)
        return flat | {"curve": [dict(zip(("questions", "error", "left", "worst"), row, strict=True)) for row in rows]}


def question_curve(
    subject: Subject,
    defense: Defense,
    questions: Sequence[int] = QUESTIONS,
    records: int = 60,
    auxiliary_rows: int = 500,
    seed: int = 0,
    *,
    on_step: OnStep = nothing,
) -> QuestionCurve:
    """Ask about records of a subject as often as the largest of these numbers says, and see what is left.

    Args:
        subject: the model, with rows to attack.
        defense: what stands between the model and the attacker, who knows it.
        questions: numbers of questions to show.
        records: how many are attacked, each with as many questions.
        auxiliary_rows: how many rows the attacker knows in full.
        seed: of the records and of all draws.
        on_step: told how many questions are done, of how many.
    """
    counts = _counts(questions)
    started = time.monotonic()
    sample = subject.sample(seed, records, auxiliary_rows)
    estimates = estimates_after_each(sample, defense, counts[-1], seed, on_step)
    guess, guessed = _best_guess(sample, estimates[0], seed)
    found = [column_mse(estimates[count], sample.truth) for count in counts]
    columns = subject.private_columns
    return QuestionCurve(
        subject=subject.name,
        defense=defense.spec,
        questions=counts,
        errors=tuple(float(error.mean()) for error in found),
        left=tuple(_share(error, guessed) for error in found),
        worst=tuple(worst_column(error, guessed, columns) for error in found),
        guess=guess,
        guess_error=float(guessed.mean()),
        records=len(sample.own),
        auxiliary_rows=0 if sample.auxiliary is None else len(sample.auxiliary),
        seed=seed,
        seconds=round(time.monotonic() - started, 1),
    )


def estimates_after_each(
    sample: Sample, defense: Defense, questions: int, seed: int, on_step: OnStep = nothing
) -> Tensor:
    """The unknown columns as estimated after 0, 1, 2 ... questions, (questions + 1, n, columns)."""
    nothing_yet = np.zeros((1, len(sample.own), sample.model.n_classes))  # every answer is asked for
    view = sample.view(nothing_yet, defense, adaptive=True, oracle=sample.oracle(defense, seed))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ChosenColumns(questions=questions).after_each(view, Watch(on_step))


def worst_column(error: Tensor, guessed: Tensor, columns: Sequence[SourceColumn]) -> ColumnLeft:
    """The column with the least left of the guess's error, both (unknown features,)."""
    places = [list(column.places) for column in columns]
    worth = [float(guessed[at].mean()) for at in places]
    told = [k for k, one in enumerate(worth) if one >= NOTHING_TO_TELL * max(worth)]
    shares = {k: _share(error[places[k]], guessed[places[k]]) for k in told}
    worst = min(shares, key=lambda k: shares[k])
    return ColumnLeft(name=columns[worst].name, party=columns[worst].party, left=shares[worst])


def _best_guess(sample: Sample, first: Tensor, seed: int) -> tuple[str, Tensor]:
    """The guess without any answer that has the smallest error, with its error in every column."""
    guesses = sample.guesses(seed) | {"guess that the attack starts from": first}
    errors = {name: column_mse(guess, sample.truth) for name, guess in guesses.items()}
    best = min(errors, key=lambda name: float(errors[name].mean()))
    return best, errors[best]


def _share(error: Tensor, guessed: Tensor) -> float:
    whole = float(guessed.mean())  # if that is 0 all is known anyway, and nothing can be given away
    return min(1.0, float(error.mean()) / whole) if whole > 0 else 1.0


def _counts(questions: Sequence[int]) -> tuple[int, ...]:
    wrong = [one for one in questions if isinstance(one, bool) or not isinstance(one, int) or one < 1]
    if wrong or not questions:
        raise SettingError(f"numbers of questions must be whole and 1 or more, got {wrong[0] if wrong else 'none'!r}")
    return tuple(sorted(set(questions)))
