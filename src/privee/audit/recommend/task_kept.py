"""Is a release still good for what records are used for? No answer may praise one that is not."""

from __future__ import annotations

import dataclasses

from privee.audit.recommend.answer import Figures, Wishes
from privee.audit.recommend.evidence import Ground
from privee.audit.recommend.limits import ORDER_KENDALL
from privee.defenses import Defense

AUC_LOSS = 0.05
"""More than this below the scores' AUC, and the task is the worse for it."""


@dataclasses.dataclass(frozen=True)
class TaskKept:
    """What a release leaves of the task, beside what the scores do."""

    found: Figures
    ground: Ground
    wishes: Wishes
    n_classes: int

    @property
    def words(self) -> str:
        """What is lost; empty if it is little."""
        return self._order_lost or self._class_lost

    def would_do(self, other: Figures) -> bool:
        """Does this one order records well enough?"""
        if other.auc is None or other.auc_of_scores is None:
            return other.order_between >= ORDER_KENDALL
        wanted = self.wishes.min_auc or 0.0
        least = other.auc_of_scores - AUC_LOSS
        return other.auc >= (max(wanted, least) if wanted <= other.auc_of_scores else least)

    def note(self, enough: Defense | None, found: Figures | None) -> str:
        """What is lost, and what would keep it."""
        if not self._order_lost:
            return f"{self.words} --keep class keeps it exact."
        if enough is None or found is None:
            return f"{self.words} Nothing that was tried keeps that order."
        has = f"a Kendall's tau of {found.order_between:.2f}" if found.auc is None else f"an AUC of {found.auc:.3f}"
        budget = self.wishes.epsilon_per_release
        epsilon = enough.guarantee(self.n_classes).epsilon or 0.0
        beyond = "" if budget is None or epsilon <= budget else f", beyond the budget of {budget:g} for each release"
        keep = "" if self.wishes.between_records else "--keep order-of-records keeps more: "
        return f"{self.words} {keep}{enough.spec} has {has}{beyond}."

    @property
    def _order_lost(self) -> str:
        if self.would_do(self.found):
            return ""
        auc, before = self.found.auc, self.found.auc_of_scores
        if auc is not None and before is not None:
            return f"This release orders records worse: its AUC for the label is {auc:.3f}, the scores' {before:.3f}."
        if self.n_classes > 2:  # nobody said that records are ordered by one class
            return ""
        tau = self.found.order_between
        return f"Much of the order between records is lost: Kendall's tau with the scores is {tau:.2f}."

    @property
    def _class_lost(self) -> str:
        told, scores, majority = self.found.utility, self.found.utility_of_scores, self.ground.majority
        if told is None or scores is None or majority is None:
            return ""
        right, before, always = told.accuracy, scores.accuracy, majority.accuracy
        if right is None or before is None or always is None or not right <= always < before:
            return ""
        return (
            f"This release names the right class no more often than the most frequent one would ({right:.1%}, where "
            f"always naming that one has {always:.1%} and the scores have {before:.1%})."
        )
