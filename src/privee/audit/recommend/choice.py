"""From wishes to one answer: the safest setting that meets them, or the one that comes nearest.

A wish is met or not by what was found: each is a figure, and the most it may be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from privee.audit.recommend import explanation
from privee.audit.recommend.answer import Attacked, Figures, RankedOption, Recommendation, Wishes
from privee.audit.recommend.evidence import (
    Effort,
    Ground,
    attack_all,
    figures,
    model_ground,
    one_number_error,
    synthetic_ground,
)
from privee.audit.recommend.rules import candidates, kind_of, not_protective, others, safest
from privee.audit.results import short_number
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
    candidates(wishes, classes)  # refuses what makes no sense before anything is tried
    if subject is None:
        return _Search(wishes, classes, synthetic_ground(classes, learn=wishes.calibrated_top)).answer({})
    effort = effort or Effort()
    ground, subject = model_ground(subject, effort)
    search = _Search(wishes, classes, ground)
    return search.answer(attack_all(subject, search.specs(), effort, wishes.queries, progress))


def _classes(n_classes: int | None, subject: Subject | None) -> int:
    if subject is not None:
        if n_classes not in {None, subject.model.n_classes}:
            raise PriveeError(f"the model has {subject.model.n_classes} classes, not {n_classes}")
        return subject.model.n_classes
    if n_classes is None:
        raise PriveeError("say what to give advice on: a model, or how many classes it has")
    return n_classes


class _Search:
    """The choice for some wishes on some scores."""

    def __init__(self, wishes: Wishes, classes: int, ground: Ground) -> None:
        self._wishes, self._classes, self._ground = wishes, classes, ground
        self._limits = limits_of(wishes, ground)
        self._figures: dict[Defense, Figures] = {}
        self._ladder = candidates(wishes, classes, ground.public)
        # The first one that meets all limits; if there is none, the nearest.
        self._chosen = min(self._ladder, key=lambda defense: max(1.0, self._excess(defense)))
        lost = others(wishes, classes, self._chosen, ground.public)
        self._lost = self._neighbours() | {defense: self._fairly(defense, why) for defense, why in lost.items()}
        self._refused = not_protective()

    def specs(self) -> list[str]:
        """All defenses that the answer speaks of."""
        return [defense.spec for defense in (self._chosen, *self._lost, *self._refused)]

    def answer(self, attacked: Mapping[str, Attacked | None]) -> Recommendation:
        """With what attacks got, by defense."""
        unmet = self._unmet()
        chosen = self._option(self._chosen, explanation.why_chosen(self._chosen, self._wishes, met=not unmet), attacked)
        return Recommendation(
            wishes=self._wishes,
            n_classes=self._classes,
            met=not unmet,
            unmet=unmet,
            chosen=chosen,
            use=explanation.how_to_use(self._chosen, self._ground),
            over_releases=explanation.over_releases(self._wishes, chosen, self._whole_budget()),
            alternatives=tuple(self._option(defense, why, attacked) for defense, why in self._lost.items()),
            not_protective=tuple(
                self._option(
                    defense, explanation.with_findings(why, self._found(defense), attacked.get(defense.spec)), attacked
                )
                for defense, why in self._refused.items()
            ),
            tried=self._ground.tried,
            tried_on=self._ground.tried_on,
            notes=explanation.notes(self._chosen, self._wishes, self._ground, attacked=chosen.attacked is not None),
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
        why = why.format(kept=f"{self._found(defense).ranking_kept:.0%} of records")
        least = safest(kind_of(self._wishes.kept(self._classes)), magnitudes=False)
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


TOP_SHARE, SMALLEST_TOP_ERROR = 0.5, 0.01
"""A top score means something if its error is at most this share of one number's for all records; 0.01 always does."""
TOP_GAP = 0.05
"""And if it is off by no more than this, on average over records that are told about the same."""


@dataclasses.dataclass(frozen=True)
class Limit:
    """The most that one of the figures may be, for a wish's sake."""

    wish: str
    quantity: str
    most: float
    words: str

    def share(self, found: Figures) -> float:
        """Of what is allowed; above 1 the wish is not met."""
        return float(getattr(found, self.quantity)) / self.most

    def failure(self, found: Figures) -> str:
        """What is wrong, in words."""
        return self.words.format(short_number(getattr(found, self.quantity)), short_number(self.most))


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
