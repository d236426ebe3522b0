"""What is found out about one private column, and about people: plain records, ready for JSON."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

LEVEL = 0.05
"""The chance that a release that says nothing is called a leak, over all columns, questions and attacks together."""
Attacker = Literal["guess", "naive", "adaptive"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bound:
    """When a column of a person counts as known.

    Attributes:
        number: the estimate is within this share of the column's range.
        certainty: the true value of a category or a yes/no column is given at least this probability.
    """

    number: float = 0.05
    certainty: float = 0.9


USUAL_BOUND = Bound()


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionFinding:
    """A yes/no question about a column, such as "is it success?": how well an attack tells who it holds for.

    Attributes:
        words: the value asked for, or which part of a number's range.
        positives: for how many of the records it holds.
        auc, auc_se: of the attack, with its standard error over records.
        guess_auc: of the best guess that needs no release.
        gain_se: standard error of the difference of both, over the same records.
        chance: the same question's p-value by a test for few records, see `chance_if_few`.
        precision, guess_precision: share of right ones among as many top candidates as there are right ones.
    """

    words: str
    positives: int
    auc: float
    auc_se: float
    guess_auc: float
    gain_se: float
    precision: float
    guess_precision: float
    chance: float = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnFinding:
    """One column under one attack.

    Attributes:
        column: its number among the private ones.
        rows: records measured.
        error, guess_error: mean square (of categories: over the probabilities of all values) of the attack and of the
            best guess.
        gain_se, ratio_se: standard errors of the difference, and of error over guess_error.
        correlation, guess_correlation: rank correlation with the truth, of numbers.
        known, guess_known: share of people for whom it is known within the bound.
        surest: error over the guess's among the one in twenty whose estimate the release moved most.
        surest_known, guess_surest_known: share known among them.
        questions: see `QuestionFinding`.
    """

    column: int
    rows: int
    error: float
    guess_error: float
    gain_se: float
    ratio_se: float
    correlation: float | None
    guess_correlation: float | None
    known: float
    guess_known: float
    surest: float
    surest_known: float
    guess_surest_known: float
    questions: tuple[QuestionFinding, ...] = ()

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> ColumnFinding:
        """Back from `dataclasses.asdict`."""
        questions = tuple(QuestionFinding(**question) for question in saved["questions"])
        return cls(**{**saved, "questions": questions})


@dataclasses.dataclass(frozen=True, kw_only=True)
class PeopleFinding:
    """Over all private columns, one attack: shares of people of whom at least one column is known within the bound.

    Attributes:
        known, guess_known: by the attack, and by the best guess of each column. Frequent values are known of most.
        newly: at least one column is known by the attack of which the guess is far off: by twice the bound of a
            number, or with the true value given less than one half.
        lost: the other way round; luck works both ways, so this is what chance alone may give.
        most_exposed: error over the guess's, each column in units of its guess's, among the one in twenty whose
            columns the release moved most.
    """

    known: float
    guess_known: float
    newly: float
    lost: float
    most_exposed: float = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnExposure:
    """What the best attack on a defense tells about one column.

    Attributes:
        name, party, kind, sensitive: of the column.
        grade: "open", "weak", "partial" or "guarded".
        remaining: of what a guess leaves open, the share that the attack leaves open, by the figure `by` that says
            most. Where nothing is told beyond chance it is an estimate that means nothing: see `settled`.
        capped_by, capped_auc: the question that may be told with an AUC above 0.9, where the grade is worse for it
            than `remaining` says; empty where it is not.
        low, high: 95 % interval of `remaining`, wide enough to hold for all columns and attacks at once.
        by: "error", or the words of a question.
        attack, attacker: which attack says most, and whose it is.
        p_value: that it does so by chance alone, corrected for all columns, questions and attacks looked at.
        settled: False where the estimate looks like a leak and there are too few records to tell it from chance.
        error, guess_error: mean square errors, in units of the column's range.
        correlation, guess_correlation: rank correlation with the truth; None for categories.
        question: the most telling question, "" if none could be asked (see `QuestionFinding` for its figures).
        base_rate: share of people it holds for.
        alone_auc: told from the release alone, by someone who holds no columns; None if not tried.
        known, guess_known, surest, surest_known, guess_surest_known: see `ColumnFinding`.
    """

    name: str
    party: str
    kind: str
    sensitive: bool
    grade: str
    remaining: float
    low: float
    high: float
    by: str
    attack: str
    attacker: Attacker
    p_value: float
    settled: bool
    records: int
    error: float
    guess_error: float
    correlation: float | None = None
    guess_correlation: float | None = None
    question: str = ""
    base_rate: float | None = None
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    guess_auc: float | None = None
    precision: float | None = None
    guess_precision: float | None = None
    alone_auc: float | None = None
    known: float = 0.0
    guess_known: float = 0.0
    surest: float = 1.0
    surest_known: float = 0.0
    guess_surest_known: float = 0.0
    capped_by: str = ""
    capped_auc: float | None = None

    @property
    def told(self) -> bool:
        """Whether anything is told beyond chance."""
        return self.p_value < LEVEL


@dataclasses.dataclass(frozen=True, kw_only=True)
class PeopleExposure:
    """The people: of how many of them at least one private column is known within the stated bound.

    Attributes:
        bound: what counts as known.
        records: people looked at.
        attack: which attack knows most.
        known, guess_known, newly, lost, most_exposed: see `PeopleFinding`.
    """

    bound: Bound
    records: int
    attack: str
    known: float
    guess_known: float
    newly: float
    lost: float
    most_exposed: float = 1.0
