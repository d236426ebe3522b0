"""From what every attack found about every column to one judgement of each: what is told beyond chance, how well.

Many columns, questions and attacks are looked at, so some look told by luck alone. A figure counts if a test on the
same records (paired: attack against best guess) finds it better than the guess at a level of 5 % for all of them
together (Bonferroni). A release that says nothing is then called a leak in one audit of twenty at most.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.stats import t as student

from privee.audit.exposure.findings import LEVEL, Attacker, ColumnExposure, ColumnFinding, QuestionFinding
from privee.audit.grades import GRADES, grade_of
from privee.data.columns import SourceColumn

Found = TypeVar("Found", ColumnFinding, QuestionFinding)
TOLD = 0.9
"""An AUC that may be above this is never graded better than weak, however well the guess does."""

FEW, MANY = 10, 30
"""Below the first number of records that a question holds for, standard errors of an AUC are not to be trusted; from
the second on they are all it takes."""


class Attempt(NamedTuple):
    """One attack by one kind of attacker, pooled over seeds; `alone`: it uses no columns but the release."""

    attack: str
    attacker: Attacker
    alone: bool
    columns: Mapping[int, ColumnFinding]


class Figure(NamedTuple):
    """One way to see that a column is told: how much it leaves open, and how sure that is."""

    by: str
    remaining: float
    error: float
    p_value: float
    attempt: Attempt
    found: ColumnFinding
    question: QuestionFinding | None


def judge(columns: Sequence[SourceColumn], attempts: Sequence[Attempt]) -> tuple[ColumnExposure, ...]:
    """One exposure for each column that any attempt could be measured on, the worst one first."""
    tests = sum(1 + len(found.questions) for attempt in attempts for found in attempt.columns.values())
    judged = []
    for number, column in enumerate(columns):
        figures = list(figures_of(number, attempts))
        if figures:
            judged.append(_exposure(column, figures, number, attempts, tests))
    order = list(GRADES)
    return tuple(sorted(judged, key=lambda one: (order.index(one.grade), one.remaining)))


def pooled(attack: str, attacker: Attacker, alone: bool, by_seed: Iterable[Sequence[ColumnFinding]]) -> Attempt:
    """Means over seeds. Seeds share records, so their number does not make the standard errors smaller."""
    gathered: dict[int, list[ColumnFinding]] = {}
    for findings in by_seed:
        for found in findings:
            gathered.setdefault(found.column, []).append(found)
    return Attempt(attack, attacker, alone, {number: _pool(some) for number, some in gathered.items()})


def _pool(some: Sequence[ColumnFinding]) -> ColumnFinding:
    if len(some) == 1:
        return some[0]
    asked: dict[str, list[QuestionFinding]] = {}
    for found in some:
        for question in found.questions:
            asked.setdefault(question.words, []).append(question)
    questions = tuple(_mean(same) for same in asked.values())
    return dataclasses.replace(_mean([dataclasses.replace(one, questions=()) for one in some]), questions=questions)


def _mean(some: Sequence[Found]) -> Found:
    values: dict[str, float | None] = {}
    for field in dataclasses.fields(some[0]):
        given = [getattr(one, field.name) for one in some]
        if not isinstance(given[0], float):
            continue
        known = np.array([value for value in given if value is not None])
        root = field.name.endswith("_se")
        values[field.name] = float(np.sqrt(np.mean(known**2))) if root else float(known.mean())
    return dataclasses.replace(some[0], **values)  # type: ignore[arg-type]


def figures_of(number: int, attempts: Sequence[Attempt]) -> Iterator[Figure]:
    """Every way in which these attempts see a column told."""
    for attempt in attempts:
        found = attempt.columns.get(number)
        if found is None:
            continue
        if found.guess_error > 0:
            p_value = _chance(found.guess_error - found.error, found.gain_se, found.rows)
            remaining = found.error / found.guess_error
            yield Figure("error", remaining, found.ratio_se, p_value, attempt, found, None)
        for question in found.questions:
            room = 1 - question.guess_auc
            if room > 0:
                fewer = min(question.positives, found.rows - question.positives)
                p_value = _asked_by_chance(question, question.auc - question.guess_auc, question.gain_se, fewer)
                error = question.gain_se / room
                yield Figure(question.words, (1 - question.auc) / room, error, p_value, attempt, found, question)


def _chance(gain: float, error: float, count: int) -> float:
    """Probability of such a gain if there is none, by Student's t with the records that carry it."""
    if gain <= 0:
        return 1.0
    return float(student.sf(gain / error, max(1, count - 1))) if error > 0 else 0.0


def _asked_by_chance(question: QuestionFinding, gain: float, error: float, fewer: int) -> float:
    """By the test for few, by the one for many, and in between by the better of both, which counts as two."""
    if fewer < FEW:
        return question.chance
    usual = _chance(gain, error, fewer)
    return usual if fewer >= MANY else min(1.0, 2 * min(usual, question.chance))


def _exposure(
    column: SourceColumn, figures: Sequence[Figure], number: int, attempts: Sequence[Attempt], tests: int
) -> ColumnExposure:
    sure = [figure for figure in figures if figure.p_value * tests < LEVEL]
    best = min(sure, key=lambda f: f.remaining) if sure else min(figures, key=lambda f: (-f.found.rows, f.p_value))
    remaining = min(1.0, max(0.0, best.remaining))
    asked = [f for f in (sure if any(f.question for f in sure) else figures) if f.question is not None]
    telling = best if best.question else min(asked, key=lambda f: (-f.found.rows, f.remaining), default=None)
    width = _width(LEVEL / (2 * max(1, tests)), best.found.rows)
    alone = [q for a in attempts if a.alone and number in a.columns for q in a.columns[number].questions]
    found = best.found
    grade, capping = _grade(remaining, sure, alone, found.rows, tests)
    return ColumnExposure(
        name=column.name,
        party=column.party,
        kind=column.kind,
        sensitive=column.sensitive,
        grade=grade,
        capped_by="" if capping is None else capping.words,
        capped_auc=None if capping is None else capping.auc,
        remaining=remaining,
        low=max(0.0, best.remaining - width * best.error),
        high=max(remaining, best.remaining + width * best.error),
        by=best.by,
        attack=best.attempt.attack,
        attacker=best.attempt.attacker,
        p_value=min(1.0, best.p_value * tests),
        settled=bool(sure) or not any(f.p_value < LEVEL and f.remaining < GRADES["weak"].below for f in figures),
        records=found.rows,
        error=found.error,
        guess_error=found.guess_error,
        correlation=found.correlation,
        guess_correlation=found.guess_correlation,
        known=found.known,
        guess_known=found.guess_known,
        surest=found.surest,
        surest_known=found.surest_known,
        guess_surest_known=found.guess_surest_known,
        alone_auc=_alone_auc(alone, found.rows, tests),
        **(_asked(telling, width) if telling is not None else {}),
    )


def _alone_auc(alone: Sequence[QuestionFinding], rows: int, tests: int) -> float | None:
    """Of the question that the release alone tells best beyond chance, else of the one with most records to tell."""
    sure = [question.auc for question in alone if _beyond_chance(question, rows, tests)]
    most = max(alone, key=lambda question: min(question.positives, rows - question.positives), default=None)
    return max(sure) if sure else None if most is None else most.auc


def _asked(telling: Figure, width: float) -> dict[str, Any]:
    question = telling.question
    assert question is not None  # noqa: S101 (only those that were asked come here)
    return {
        "question": question.words,
        "base_rate": question.positives / telling.found.rows,
        "auc": question.auc,
        "auc_low": max(0.0, question.auc - width * question.auc_se),
        "auc_high": min(1.0, question.auc + width * question.auc_se),
        "guess_auc": question.guess_auc,
        "precision": question.precision,
        "guess_precision": question.guess_precision,
    }


def _grade(
    remaining: float, sure: Sequence[Figure], alone: Sequence[QuestionFinding], rows: int, tests: int
) -> tuple[str, QuestionFinding | None]:
    """Nothing told beyond chance is guarded. What may be told with an AUC above 0.9 is weak at best.

    Also the question that made it worse than what remains would say, if one did.
    """
    found = grade_of(remaining) if sure else "guarded"
    told = [f.question for f in sure if f.question is not None] + [q for q in alone if _beyond_chance(q, rows, tests)]
    near = [question for question in told if question.auc + 2 * question.auc_se > TOLD]
    order = list(GRADES)
    if not near or order.index(found) <= order.index("weak"):
        return found, None
    return "weak", max(near, key=lambda question: question.auc)


def _beyond_chance(question: QuestionFinding, rows: int, tests: int) -> bool:
    fewer = min(question.positives, rows - question.positives)
    return _asked_by_chance(question, question.auc - 0.5, question.auc_se, fewer) * tests < LEVEL


def _width(level: float, rows: int) -> float:
    return float(student.isf(level, max(1, rows - 1))) if level > 0 else math.inf
