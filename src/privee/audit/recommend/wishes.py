"""What a user wants of a release, checked."""

from __future__ import annotations

import dataclasses
import re

from privee.defenses.base import check_positive, check_whole
from privee.errors import PriveeError, SettingError
from privee.theory import epsilon_per_release

MOST_CLASSES = 100_000
MOST_QUERIES = 1_000_000

FORMAL_TOTAL = 8.0
"""Epsilon over all releases of a record where a formal guarantee is wanted and none is named; 16 promises little."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wishes:
    """What must hold of the release.

    Attributes:
        keep: what must stay exact: "ranking", "class" (the predicted one) or "top-3" (the order of the leading three).
        calibrated_top: the released top score must mean what the model's means, and tell records apart.
        queries: releases per record.
        formal: a formal guarantee over all of them is wanted.
        epsilon: its budget per record, over all releases (8 unless given); implies `formal`.
        max_moved: largest mean L1 distance between scores and release that is accepted.

    Example:
        >>> Wishes(keep="top-3", epsilon=8, queries=4).epsilon_per_release
        2.0
    """

    keep: str = "ranking"
    calibrated_top: bool = False
    queries: int = 1
    formal: bool = False
    epsilon: float | None = None
    max_moved: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.keep, str) or not re.fullmatch(r"ranking|class|top-0*[1-9][0-9]{0,8}", self.keep):
            raise SettingError(f"keep must be ranking, class, or top-K such as top-3, got {self.keep!r}")
        check_whole(1, MOST_QUERIES, queries=self.queries)
        if self.epsilon is not None:
            check_positive(epsilon=self.epsilon)
            object.__setattr__(self, "formal", True)
        if self.max_moved is not None:
            check_positive(max_moved=self.max_moved)

    def kept(self, n_classes: int) -> int | None:
        """How many leading classes keep their order; None for all of them (which all but one settle, too)."""
        check_whole(2, MOST_CLASSES, classes=n_classes)
        if self.keep == "ranking":
            return None
        leading = 1 if self.keep == "class" else int(self.keep.removeprefix("top-"))
        if leading > n_classes:
            raise PriveeError(f"{self.keep} asks for more classes than there are ({n_classes})")
        return None if leading > 1 and leading >= n_classes - 1 else leading

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
