"""A wish is met or not by what was found: each is a figure, and the most or the least it may be."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from privee.audit.recommend.answer import Figures, Wishes
from privee.audit.recommend.evidence import Ground, one_number_error
from privee.audit.results import short_number

TOP_SHARE, SMALLEST_TOP_ERROR = 0.5, 0.01
"""A top score means something if its error is at most this share of one number's for all records; 0.01 always does."""
TOP_GAP = 0.05
"""And if it is off by no more than this, on average over records that are told about the same."""
AUC_SHARE = 0.95
"""The order between records is kept if so much is left of what the scores' AUC has above 0.5."""
ORDER_KENDALL = 0.8
"""Or if Kendall's tau with the scores is at least this, where there are no labels or the scores hardly tell them."""
HARDLY_ORDERED = 0.52


@dataclasses.dataclass(frozen=True)
class Limit:
    """The most that one of the figures may be, or the least, for a wish's sake."""

    wish: str
    quantity: str
    bound: float
    words: str
    least: bool = False

    def share(self, found: Figures) -> float:
        """Of what is allowed; above 1 the wish is not met."""
        value = getattr(found, self.quantity)
        if value is None:
            return math.inf
        return self.bound / max(value, 1e-9) if self.least else value / self.bound

    def failure(self, found: Figures) -> str:
        """What is wrong, in words."""
        return self.words.format(short_number(getattr(found, self.quantity)), short_number(self.bound))


def limits_of(wishes: Wishes, ground: Ground) -> tuple[Limit, ...]:
    """For the wishes that need figures."""
    limits = []
    if wishes.max_moved is not None:
        words = "moves scores by {} on average (L1), more than {}"
        limits.append(Limit("max_moved", "mean_l1_moved", wishes.max_moved, words))
    if wishes.calibrated_top:
        enough = max(TOP_SHARE * one_number_error(ground), SMALLEST_TOP_ERROR)
        off = "gets the top score wrong by {}; above {} it tells records apart little better than one number for all"
        biased = "shifts the top score by {} among records that are told about the same, more than {}"
        limits.append(Limit("calibrated_top", "top_score_error", enough, off))
        limits.append(Limit("calibrated_top", "calibration_gap", TOP_GAP, biased))
    if wishes.min_auc is not None:
        best = "" if ground.utility is None else f" (the scores have {short_number(ground.utility.auc or 0.0)})"
        words = f"has an AUC of {{}}, less than {{}}{best}"
        limits.append(Limit("min_auc", "auc", wishes.min_auc, words, least=True))
    elif wishes.between_records:
        limits.append(enough_order(ground))
    return tuple(limits)


def enough_order(ground: Ground) -> Limit:
    """How much of the order between records is enough where nothing was said about it."""
    of_scores = None if ground.utility is None else ground.utility.auc
    if of_scores is None or of_scores < HARDLY_ORDERED:
        words = "keeps the order between records to a Kendall's tau of {}, less than {}"
        return Limit("keep", "order_between", ORDER_KENDALL, words, least=True)
    enough = 0.5 + AUC_SHARE * (of_scores - 0.5)
    return Limit("keep", "auc", enough, "has an AUC of {}, less than {}", least=True)


def excess(found: Figures, limits: Sequence[Limit]) -> float:
    """1 or less: all are met. Above: by how much the worst one is missed."""
    return max((limit.share(found) for limit in limits), default=0.0)


def failures(found: Figures, limits: Sequence[Limit]) -> dict[str, str]:
    """What is not met, by wish."""
    failed: dict[str, str] = {}
    for limit in limits:
        if limit.share(found) > 1:
            failed.setdefault(limit.wish, limit.failure(found))
    return failed
