"""From wishes to one answer: the safest setting that meets them, or the one that comes nearest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from privee.audit.recommend import explanation
from privee.audit.recommend.answer import Attacked, Figures, RankedOption, Recommendation, Wishes
from privee.audit.recommend.evidence import (
    Effort,
    Ground,
    attack_all,
    figures,
    model_ground,
    synthetic_ground,
)
from privee.audit.recommend.limits import enough_order, excess, failures, limits_of
from privee.audit.recommend.rules import candidates, kind_of, not_protective, others, safest
from privee.audit.recommend.task_kept import TaskKept
from privee.audit.subject import Subject
from privee.defenses import Defense
from privee.errors import PriveeError
from privee.progress import Progress


def recommend(
    wishes: Wishes,
    *,
    n_classes: int | None = None,
    subject: Subject | None = None,
    effort: Effort | None = None,
    progress: Progress = lambda done, total: None,
) -> Recommendation:
    """One defense with its settings for these wishes, what else was considered, and the evidence.

    Args:
        wishes: what must hold of the release.
        n_classes: of the model; needed if there is no subject. Settings are then tried on synthetic scores, and
            nothing is said about attacks.
        subject: a model to try settings on and to attack.
        effort: how much is tried on it.
        progress: called with (attacks done, attacks in all).

    Example:
        >>> recommend(Wishes(keep="class"), n_classes=10).chosen.defense
        'label-only'
    """
    classes = _classes(n_classes, subject)
    by_default, wishes = wishes.keep is None, wishes.settled(classes)
    candidates(wishes, classes)  # refuses what makes no sense before anything is tried
    if subject is None:
        if wishes.min_auc is not None:
            raise PriveeError("min_auc needs labels, and synthetic scores have none; give a model and labelled records")
        learn = wishes.calibrated_top or wishes.between_records
        return _Search(wishes, classes, synthetic_ground(classes, learn=learn), by_default).answer({})
    effort = effort or Effort()
    ground, subject = model_ground(subject, effort)
    if wishes.min_auc is not None and (ground.utility is None or ground.utility.auc is None):
        raise PriveeError("min_auc needs labels of two classes or more, and the records have none")
    search = _Search(wishes, classes, ground, by_default)
    return search.answer(attack_all(subject, search.specs(), effort, wishes, progress))


def _classes(n_classes: int | None, subject: Subject | None) -> int:
    if subject is not None:
        if n_classes not in {None, subject.model.n_classes}:
            raise PriveeError(f"the model has {subject.model.n_classes} classes, not {n_classes}")
        return subject.model.n_classes
    if n_classes is None:
        raise PriveeError("say what to give advice on: a model, or how many classes it has")
    return n_classes


class _Search:
    """The choice for some wishes on some scores; by default: what is kept was not said, but settled."""

    def __init__(self, wishes: Wishes, classes: int, ground: Ground, by_default: bool) -> None:
        self._wishes, self._classes, self._ground = wishes, classes, ground
        self._records_by_default = by_default and wishes.between_records
        self._limits = limits_of(wishes, ground)
        self._figures: dict[Defense, Figures] = {}
        self._ladder = candidates(wishes, classes, ground.public)
        if self._records_by_default and not wishes.magnitudes:  # the class alone, where that keeps enough order
            alone = candidates(dataclasses.replace(wishes, keep="class"), classes)[:1]
            self._ladder = (*alone, *self._ladder)
        # The first one that meets all limits; if there is none, the nearest.
        self._chosen = min(self._ladder, key=lambda defense: max(1.0, self._excess(defense)))
        near, lost = self._neighbours(), others(wishes, classes, self._chosen, ground.public)
        self._lost = near | {
            defense: self._fairly(defense, why) for defense, why in lost.items() if defense not in near
        }
        self._refused = not_protective()

    def specs(self) -> list[str]:
        """All defenses that the answer speaks of."""
        return [defense.spec for defense in (self._chosen, *self._lost, *self._refused)]

    def answer(self, attacked: Mapping[str, Attacked | None]) -> Recommendation:
        """With what attacks got, by defense."""
        unmet = self._unmet() | self._told_by_variants(attacked.get(self._chosen.spec))
        enough = enough_order(self._ground)
        why = explanation.why_chosen(self._chosen, self._wishes, enough, met=not unmet)
        chosen = self._option(self._chosen, why, attacked)
        lost = tuple(self._option(defense, why, attacked) for defense, why in self._lost.items())
        return Recommendation(
            wishes=self._wishes,
            n_classes=self._classes,
            met=not unmet,
            unmet=unmet,
            chosen=chosen,
            use=explanation.how_to_use(self._chosen, self._ground),
            over_releases=explanation.over_releases(self._wishes, chosen, self._whole_budget()),
            alternatives=lost,
            not_protective=tuple(
                self._option(
                    defense, explanation.with_findings(why, self._found(defense), attacked.get(defense.spec)), attacked
                )
                for defense, why in self._refused.items()
            ),
            tried=self._ground.tried,
            tried_on=self._ground.tried_on,
            notes=(
                *self._task_lost(),
                *([explanation.records_by_default(chosen, lost)] if self._records_by_default else []),
                *explanation.on_seals(chosen, self._ground),
                *explanation.notes(
                    self._chosen, self._wishes, self._classes, self._ground, attacked=chosen.attacked is not None
                ),
            ),
        )

    def _found(self, defense: Defense) -> Figures:
        if defense not in self._figures:
            self._figures[defense] = figures(defense, self._ground)
        return self._figures[defense]

    def _excess(self, defense: Defense) -> float:
        return excess(self._found(defense), self._limits)

    def _neighbours(self) -> dict[Defense, str]:
        """The next safer setting and the next looser one, and why they lost."""
        place = self._ladder.index(self._chosen)
        near = (*self._ladder[max(0, place - 1) : place], *self._ladder[place + 1 : place + 2])
        too = "meets the wishes too, but promises less"
        return {defense: "; ".join(failures(self._found(defense), self._limits).values()) or too for defense in near}

    def _fairly(self, defense: Defense, why: str) -> str:
        """With figures; something safer that moves scores no more than allowed lost by a rule alone: say so."""
        found = self._found(defense)
        why = why.format(kept=f"{found.ranking_kept:.0%} of records", between=f"{found.order_between:.2f}")
        too_low = failures(found, self._limits).get("min_auc")
        if too_low:
            return f"{why}; {too_low}"
        least = safest(kind_of(self._wishes, self._classes), magnitudes=False)
        holds = self._limits and defense.name == least.name and self._excess(defense) <= 1
        return f"{why}; it is within the limits, so take it where they need not" if holds else why

    def _unmet(self) -> dict[str, str]:
        """Which wishes are not met, and whether they would be without the budget."""
        failed = failures(self._found(self._chosen), self._limits)
        freely = dataclasses.replace(self._wishes, epsilon=None, formal=False)
        ladder = candidates(freely, self._classes, self._ground.public) if failed else ()
        enough = next((defense for defense in ladder if self._excess(defense) <= 1), None)
        more = explanation.would_do(None if enough is None else self._epsilon(enough), self._wishes.queries)
        return {wish: f"the nearest setting {failure}; {more}" for wish, failure in failed.items()}

    def _told_by_variants(self, attacked: Attacked | None) -> dict[str, str]:
        """What an exact order tells to whoever chooses own columns, if the wishes let anyone."""
        again = None if attacked is None else attacked.asked_again
        safe = not self._chosen.monotone if again is None else again.grade in ("partial", "guarded")
        if self._wishes.variants == 1 or safe or self._ground.all_sealed:
            return {}
        return {"variants": explanation.told_by_variants(self._wishes.variants, again)}

    def _task_lost(self) -> tuple[str, ...]:
        """What the chosen release costs those who use it, if it is much, and what would keep it."""
        kept = TaskKept(self._found(self._chosen), self._ground, self._wishes, self._classes)
        if not kept.words:
            return ()
        ordering = dataclasses.replace(self._wishes, keep="order-of-records", epsilon=None, formal=False)
        ladder = candidates(ordering, self._classes, self._ground.public)
        enough = next((defense for defense in ladder if kept.would_do(self._found(defense))), None)
        return (kept.note(enough, None if enough is None else self._found(enough)),)

    def _whole_budget(self) -> tuple[Defense, Figures] | None:
        """With repeatable draws the budget of all releases can go into one."""
        if self._wishes.total_epsilon is None or self._wishes.queries == 1:
            return None
        once = dataclasses.replace(self._wishes, queries=1)
        last = candidates(once, self._classes, self._ground.public)[-1]
        return last, self._found(last)

    def _epsilon(self, defense: Defense) -> float:
        return defense.guarantee(self._classes).epsilon or 0.0

    def _option(self, defense: Defense, why: str, attacked: Mapping[str, Attacked | None]) -> RankedOption:
        guarantee = defense.guarantee(self._classes)
        return RankedOption(
            defense=defense.spec,
            settings=defense.settings(),
            why=why,
            proven=guarantee.proven,
            same=guarantee.same,
            epsilon=guarantee.epsilon,
            assumptions=guarantee.assumptions,
            not_covered=guarantee.not_covered,
            figures=self._found(defense),
            attacked=attacked.get(defense.spec),
        )
