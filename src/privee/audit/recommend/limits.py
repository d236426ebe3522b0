"""Wishes that are met or not by what was found: each one a figure, and the most it may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from privee.audit.recommend.answer import Figures
from privee.audit.recommend.evidence import Ground, one_number_error
from privee.audit.recommend.wishes import Wishes
from privee.audit.words import figure

TOP_SHARE, SMALLEST_TOP_ERROR = 0.5, 0.01
"""A top score means something if its error is at most this share of one number's for all records; 0.01 always does."""
TOP_GAP = 0.05
"""And if it is off by no more than this, on average over records that are told about the same."""


@dataclasses.dataclass(frozen=True)
class Limit:
    """The most that one of the figures may be, for a wish's sake."""

    wish: str
    figure: str
    most: float
    words: str

    def share(self, found: Figures) -> float:
        """Of what is allowed; above 1 the wish is not met."""
        return float(getattr(found, self.figure)) / self.most

    def failure(self, found: Figures) -> str:
        """What is wrong, in words."""
        return self.words.format(figure(getattr(found, self.figure)), figure(self.most))


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
    return tuple(limits)


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
