"""What a user wants of a release, checked; what is recommended, and why: plain records, ready for JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal

from privee.audit.exposure import ColumnExposure
from privee.audit.results import AskedAgain, Best, WithoutEnd
from privee.defenses.advice import check_keep
from privee.defenses.base import check_positive, check_whole
from privee.errors import PriveeError, SettingError
from privee.scores import Utility
from privee.theory import epsilon_per_release

Tried = Literal["measured", "synthetic"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figures:
    """What a release keeps and moves, on average over records.

    Attributes:
        mean_l1_moved: L1 distance between scores and release.
        left_after_inverse: L1 distance that is left once the defense's public inverse has been applied.
        top_score_error: absolute error of the top score.
        calibration_gap: how far the mean of released top scores is from that of the model's, among records with about
            the same released one.
        ranking_kept: share of records whose ranking is the scores' own.
        order_between: Kendall's tau between the scores and the release, over records (`privee.scores.order_between`).
        utility, utility_of_scores: what the release and the scores are worth to whoever knows the labels; None where
            they are not known. These three are measured on more records than are attacked.
    """

    mean_l1_moved: float
    left_after_inverse: float
    top_score_error: float
    calibration_gap: float
    ranking_kept: float
    order_between: float
    utility: Utility | None = None
    utility_of_scores: Utility | None = None

    @property
    def auc(self) -> float | None:
        """Of the release, for the label."""
        return None if self.utility is None else self.utility.auc

    @property
    def auc_of_scores(self) -> float | None:
        """Of the scores, for the label."""
        return None if self.utility_of_scores is None else self.utility_of_scores.auc


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attacked:
    """What the best attack got; see `privee.audit.Card`."""

    headline: Best
    guess: Best
    guess_normalised: float
    attainable_protection: float | None
    grade: str
    verdict: str
    worst: ColumnExposure | None = None
    asked_again: AskedAgain | None = None
    without_end: WithoutEnd | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankedOption:
    """One defense with its settings: why it was chosen or lost, what is proven and what was found.

    Attributes:
        attacked: None where nothing was attacked (synthetic scores) or no attack could run.
    """

    defense: str
    settings: Mapping[str, Any]
    why: str
    proven: str
    same: str
    epsilon: float | None
    assumptions: tuple[str, ...]
    not_covered: tuple[str, ...]
    figures: Figures
    attacked: Attacked | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recommendation:
    """One answer, what else was considered, and the evidence.

    Attributes:
        met: are all wishes met? If not, `unmet` says which are not, by name, and `chosen` comes nearest.
        chosen: the recommended defense.
        use: how to put it to use, in Python.
        over_releases: what several releases of one record add up to.
        alternatives: what was considered and lost.
        not_protective: what is never recommended, with what was found.
        tried: "measured" on a model, or on "synthetic" scores, which say nothing about attacks.
        tried_on: what that was, in words.
        notes: what else to know.
    """

    wishes: Wishes
    n_classes: int
    met: bool
    unmet: Mapping[str, str]
    chosen: RankedOption
    use: str
    over_releases: tuple[str, ...]
    alternatives: tuple[RankedOption, ...]
    not_protective: tuple[RankedOption, ...]
    tried: Tried
    tried_on: str
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the same after a round trip through JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self), allow_nan=False))
        return plain


MOST_CLASSES = 100_000
MOST_QUERIES = 1_000_000

FORMAL_TOTAL = 8.0
"""Epsilon over all releases of a record where a formal guarantee is wanted and none is named; 16 promises little."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wishes:
    """What must hold of the release.

    Attributes:
        keep: what must stay exact: "ranking", "class" (the predicted one) or "top-3" (the order of the leading three);
            with two classes they are one thing. Or, not exactly, "order-of-records": which record has the higher score.
            None: with two classes the order of records, with more the ranking (`settled`).
        calibrated_top: the released top score must mean what the model's means, and tell records apart.
        queries: releases per record.
        variants: with how many different own columns a record may be asked about, the gateway's `--variants`; from 2 on
            whoever asks may choose them, and attacks do.
        formal: a formal guarantee over all of them is wanted.
        epsilon: its budget per record, over all releases (8 unless given); implies `formal`.
        max_moved: largest mean L1 distance between scores and release that is accepted.
        min_auc: smallest AUC of the release for the label that is accepted; needs labels.

    Example:
        >>> Wishes(keep="top-3", epsilon=8, queries=4).epsilon_per_release
        2.0
    """

    keep: str | None = None
    calibrated_top: bool = False
    queries: int = 1
    variants: int = 1
    formal: bool = False
    epsilon: float | None = None
    max_moved: float | None = None
    min_auc: float | None = None

    def __post_init__(self) -> None:
        if self.keep is not None:
            check_keep(self.keep)
        check_whole(1, MOST_QUERIES, queries=self.queries, variants=self.variants)
        object.__setattr__(self, "queries", max(self.queries, self.variants))  # each variant is a release of its own
        if self.epsilon is not None:
            check_positive(epsilon=self.epsilon)
            object.__setattr__(self, "formal", True)
        if self.max_moved is not None:
            check_positive(max_moved=self.max_moved)
        if self.min_auc is not None:
            check_positive(min_auc=self.min_auc)
            if not 0.5 < self.min_auc <= 1:
                raise SettingError(
                    f"min_auc must lie above 0.5, which no order has, and at most at 1; got {self.min_auc:g}"
                )

    def settled(self, n_classes: int) -> Wishes:
        """With what is kept if nothing was said: of two classes the score is mostly there to rank records by."""
        if self.keep is not None:
            return self
        return dataclasses.replace(self, keep="order-of-records" if n_classes == 2 else "ranking")

    def kept(self, n_classes: int) -> int | None:
        """How many leading classes keep their order; None for all of them (which all but one settle, too).

        Of two classes the first one is all there is to know: their ranking is the predicted class. Where the order
        between records is to be kept, there is none within a record to speak of.
        """
        check_whole(2, MOST_CLASSES, classes=n_classes)
        if self.between_records:
            return None
        if self.keep in (None, "ranking"):
            return 1 if n_classes == 2 else None
        leading = 1 if self.keep == "class" else int(str(self.keep).removeprefix("top-"))
        if leading > n_classes:
            raise PriveeError(f"{self.keep} asks for more classes than there are ({n_classes})")
        if n_classes == 2:
            return 1
        return None if leading > 1 and leading >= n_classes - 1 else leading

    @property
    def between_records(self) -> bool:
        """Is it the order between records that must be kept?"""
        return self.keep == "order-of-records"

    @property
    def magnitudes(self) -> bool:
        """Must the released numbers mean something beyond their order?"""
        return self.calibrated_top or self.max_moved is not None

    @property
    def total_epsilon(self) -> float | None:
        """Over all releases of a record; None for no limit."""
        return self.epsilon or (FORMAL_TOTAL if self.formal else None)

    @property
    def epsilon_per_release(self) -> float | None:
        """What one of the releases may cost when every one is drawn afresh; None for no limit."""
        total = self.total_epsilon
        return None if total is None else epsilon_per_release(total, self.queries)
