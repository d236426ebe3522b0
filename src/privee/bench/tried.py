"""What each attack made of a row, in few numbers: enough to judge it beside any others, also those tried elsewhere."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privee.audit.exposure.findings import LEVEL
from privee.audit.exposure.judging import Attempt, figures_of, pooled
from privee.audit.results import Finding
from privee.bench.parts import FIVE


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tried:
    """One attack on one row, its seeds together.

    Attributes:
        attack, attacker, queries, questions: what was tried, as in a `Finding`.
        left: of the best guess's error, the share that is left; None if it could not be tried.
        records: how many were attacked.
        columns: how many were looked at, for what is by chance.
        told: name, share left and p-value of the columns that may be told, without those that another one beats in
            both: however many other attacks there are to be told from chance, the best of all columns is among them.
    """

    attack: str
    attacker: str
    queries: int
    questions: int
    left: float | None
    records: int
    columns: int
    told: tuple[tuple[str, float, float], ...] = ()

    @property
    def honest(self) -> bool:
        """Asks with the columns that the record has."""
        return not self.questions

    @property
    def five(self) -> bool:
        """Asks with columns of its choice, five times at most."""
        return 0 < self.questions <= FIVE


@dataclasses.dataclass(frozen=True, kw_only=True)
class Left:
    """Of the best guess's error, the share that the best attack leaves: 1 is nothing told, 0 all.

    Attributes:
        mean: over all private columns together.
        attack: by which; empty if none did better than the guess.
        worst: in the column that is told best beyond chance (5 % for all columns and attacks that ask in this way);
            as much as `mean` at most, since no average is below all that it is made of.
        column, column_attack: which, and by which attack; empty where it is the mean that says so, not one column.
        attacks: how many could be tried.
        records: how many were attacked by the attack that `mean` is of.
    """

    mean: float
    attack: str
    worst: float
    column: str
    column_attack: str
    attacks: int
    records: int


def left_of(tried: Sequence[Tried]) -> Left | None:
    """What the best of these attacks leaves; None if none of them could be tried."""
    able = [one for one in tried if one.left is not None]
    if not able:
        return None
    best = min(able, key=_share)
    tests = sum(one.columns for one in tried)
    sure = [(share, name, one.attack) for one in tried for name, share, chance in one.told if chance * tests < LEVEL]
    mean = min(1.0, _share(best))
    worst, column, column_attack = min([*sure, (mean, "", "")])
    return Left(
        mean=mean,
        attack=best.attack if mean < 1 else "",
        worst=worst,
        column=column,
        column_attack=column_attack,
        attacks=len({one.attack for one in able}),
        records=best.records,
    )


def tried_of(findings: Sequence[Finding], columns: Sequence[str]) -> list[Tried]:
    """One for each attack, over its seeds."""
    gathered: dict[tuple[str, int, Any], list[Finding]] = defaultdict(list)
    for finding in findings:
        gathered[finding.attack, finding.queries, finding.attacker].append(finding)
    return [_tried(some, columns) for some in gathered.values()]


def _tried(some: Sequence[Finding], columns: Sequence[str]) -> Tried:
    first = some[0]
    shares = [finding.guess_normalised for finding in some if finding.guess_normalised is not None]
    attempt = pooled(first.attack, first.attacker, False, [finding.columns for finding in some])
    return Tried(
        attack=first.attack,
        attacker=first.attacker,
        queries=first.queries,
        questions=first.questions,
        left=round(float(np.mean(shares)), 6) if shares else None,
        records=max((f.records for f in some if f.guess_normalised is not None), default=0),
        columns=len(attempt.columns),
        told=tuple(_told(attempt, columns)),
    )


def _told(attempt: Attempt, columns: Sequence[str]) -> Iterator[tuple[str, float, float]]:
    """By rising p-value, each with less left than all before it."""
    figures = [(figure.p_value, figure.remaining, n) for n in attempt.columns for figure in figures_of(n, [attempt])]
    least = 1.0
    for chance, share, number in sorted(figures):
        if share < least and chance * len(attempt.columns) < LEVEL:
            least = share
            yield columns[number], round(max(0.0, share), 6), float(f"{chance:.3g}")


def _share(one: Tried) -> float:
    return 1.0 if one.left is None else one.left
