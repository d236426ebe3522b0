"""What the first screen says of a model: what is told, of whom, to whom, how well, and how each release is graded."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from privee.audit.exposure.findings import ColumnExposure
from privee.audit.grades import GRADES
from privee.audit.report.advice import Advice, standing
from privee.audit.results import Card, SubjectInfo

ALONE = 0.65
"""From this AUC on, what the release tells somebody without columns of their own is worth a word."""
NAMED = 3
"""So many columns are named; the picture and the table have the others."""


class Graded(NamedTuple):
    """The releases of one grade: those that leave the task alive by their worst column, and those that do not."""

    grade: str
    by_column: tuple[tuple[str, tuple[Card, ...]], ...]
    unfit: tuple[Card, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Opening:
    """The first screen's facts.

    Attributes:
        card: what they are about: the scores as they are, or the worst release if those were not tried.
        as_they_are: whether it is the former.
        told: columns of which it tells more than chance and a little, the sensitive ones first, then the worst.
        level: the worst grade there is among columns, and `at_level` how many have it.
        unsettled: columns that look told, with too few records to be sure.
        alone: the column that somebody without columns of their own is told best, if it is told at all.
        owners: who holds the private columns.
        people: how many were looked at.
        much_more: with `level` "open", how many columns are weak besides.
        graded: the releases by grade, the worst first; see `Graded`.
    """

    card: Card
    as_they_are: bool
    told: tuple[ColumnExposure, ...]
    level: str
    at_level: int
    unsettled: tuple[ColumnExposure, ...]
    alone: ColumnExposure | None
    owners: tuple[str, ...]
    people: int
    much_more: int
    graded: tuple[Graded, ...]

    @property
    def named(self) -> tuple[ColumnExposure, ...]:
        """The told columns that are named on the first screen."""
        return self.told[:NAMED]


def opening(info: SubjectInfo, cards: Sequence[Card], advice: Advice) -> Opening | None:
    """None if nothing was tried."""
    if not cards:
        return None
    card = advice.scores or min(cards, key=standing)
    told = sorted((one for one in card.columns if one.grade != "guarded"), key=lambda one: not one.sensitive)
    alone = [one for one in told if one.alone_auc is not None and one.alone_auc >= ALONE]
    owners = dict.fromkeys([*(column.party for column in info.columns), *(one.party for one in card.columns)])
    return Opening(
        card=card,
        as_they_are=card is advice.scores,
        told=tuple(told),
        level=card.grade,
        at_level=sum(one.grade == card.grade for one in card.columns),
        unsettled=tuple(one for one in card.columns if not one.settled),
        alone=max(alone, key=lambda one: one.alone_auc or 0.0, default=None),
        owners=tuple(owners),
        people=card.people.records if card.people is not None else info.column_records or info.records,
        much_more=sum(one.grade == "weak" for one in card.columns) if card.grade == "open" else 0,
        graded=_graded(cards, advice),
    )


def _graded(cards: Sequence[Card], advice: Advice) -> tuple[Graded, ...]:
    found = []
    for word in dict.fromkeys([*GRADES, *(card.grade for card in cards)]):
        mine = [card for card in cards if card.grade == word]
        by_column: dict[str, list[Card]] = {}
        for card in mine:
            if card.defense not in advice.unfit:
                by_column.setdefault(card.worst.name if card.worst else "", []).append(card)
        if mine:
            unfit = tuple(card for card in mine if card.defense in advice.unfit)
            found.append(Graded(word, tuple((name, tuple(some)) for name, some in by_column.items()), unfit))
    return tuple(found)
