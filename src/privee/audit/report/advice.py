"""Which release to hand out: among those that leave the task alive, the one whose worst column is kept best."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from privee.audit.grades import GRADES
from privee.audit.report.number_format import percent, two_decimals
from privee.audit.results import Card, SubjectInfo
from privee.defenses import NoDefense

MOST_LOST = 0.05
"""In AUC, and in accuracy: a release that costs more destroys the task."""
LEAST_ORDER, LEAST_KEPT = 0.5, 0.95
"""Where labels are not known: order between records (two classes), and share of records that keep their class."""

WORST, BEST = 0, len(GRADES) - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Advice:
    """What to hand out.

    Attributes:
        chosen: what is advised; None if nothing that leaves the task alive is better than the scores as they are.
        scores: the scores as they are, if they were tried.
        unfit: what destroys the task, and by what that shows.
    """

    chosen: Card | None
    scores: Card | None
    unfit: Mapping[str, str]

    @property
    def as_they_are(self) -> bool:
        """Whether the scores may go out as they are: no attack tried learns from them what a guess does not know."""
        return self.chosen is not None and self.chosen is self.scores


def advise(info: SubjectInfo, cards: Sequence[Card]) -> Advice:
    """Best grade of the worst column; of equals, more of that column left; of equals, less lost."""
    scores = next((card for card in cards if card.defense == NoDefense().spec), None)
    others = [card for card in cards if card is not scores]
    unfit = {card.defense: reason for card in others if (reason := why_unfit(info, card))}
    if scores is not None and standing(scores).grade == BEST:
        return Advice(chosen=scores, scores=scores, unfit=unfit)
    fit = [card for card in others if card.defense not in unfit]
    best = max(fit, key=lambda card: (*standing(card)[:2], -_lost(info, card)), default=None)
    chosen = best if best is not None and _protects(best, scores) else None
    return Advice(chosen=chosen, scores=scores, unfit=unfit)


class Standing(NamedTuple):
    """Where a release stands: its grade (0 the worst), and what is left of its worst column, with the interval."""

    grade: int
    left: float
    low: float
    high: float


def standing(card: Card) -> Standing:
    """By the worst column; by the mean over columns where none was looked at by itself."""
    grade = list(GRADES).index(card.grade) if card.grade in GRADES else 0
    worst = card.worst
    if worst is None:
        left = min(1.0, card.guess_normalised)
        return Standing(grade, round(left, 2), left, left)
    return Standing(grade, round(worst.remaining, 2), worst.low, worst.high)


def why_unfit(info: SubjectInfo, card: Card) -> str:
    """By what it shows that a release destroys the task; "" for one that does not."""
    before, after = accuracy_of(info), accuracy_of(card)
    if auc_lost(info, card) is None and (before is None or after is None):
        return _unfit_without_labels(info, card)
    if info.utility and card.utility and (auc_lost(info, card) or 0.0) > MOST_LOST:
        return f"AUC {two_decimals(info.utility.auc)} → {two_decimals(card.utility.auc)}"
    if before is None or after is None:
        return ""
    if before - after > MOST_LOST:
        return f"accuracy {two_decimals(before)} → {two_decimals(after)}"
    always = accuracy_of(info.majority)
    if always is not None and after <= always < before:
        return f"accuracy {two_decimals(after)}, always naming the most frequent class {two_decimals(always)}"
    return ""


def _unfit_without_labels(info: SubjectInfo, card: Card) -> str:
    if card.label_kept < LEAST_KEPT:
        return f"{percent(1 - card.label_kept)} of the records change their class"
    if info.classes == 2 and card.order_between is not None and card.order_between < LEAST_ORDER:
        return f"order between records {two_decimals(card.order_between)} of 1"
    return ""


def accuracy_of(known: object) -> float | None:
    """Of a subject, a card or a utility: as measured on many records, else on those that were attacked."""
    many = getattr(getattr(known, "utility", None), "accuracy", None)
    return many if many is not None else getattr(known, "accuracy", None)


def auc_lost(info: SubjectInfo, card: Card) -> float | None:
    """AUC of the scores less that of the release; None without labels."""
    if info.utility is None or card.utility is None or info.utility.auc is None or card.utility.auc is None:
        return None
    return info.utility.auc - card.utility.auc


def _lost(info: SubjectInfo, card: Card) -> float:
    lost = auc_lost(info, card)
    return card.mean_l1_moved if lost is None else lost


def _protects(card: Card, scores: Card | None) -> bool:
    """Is it surely better than the scores as they are, and does it not give the worst column away all the same?"""
    mine = standing(card)
    if mine.grade == WORST or scores is None:
        return mine.grade != WORST
    theirs = standing(scores)
    return mine.grade > theirs.grade or (mine.grade == theirs.grade and mine.low > theirs.high)
