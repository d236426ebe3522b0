"""Chosen columns: ask about the same records again and again, each time with the own columns that tell most."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.chosen.answers import Answer, answer_of, asked_of, points_to_try
from privee.attacks.chosen.belief import Belief, Prior, prior_of
from privee.attacks.chosen.next_question import EVEN, SEEN, best_row, by_descent, by_trial, equal_logits, unevenness
from privee.attacks.chosen.particles import Particles
from privee.attacks.chosen.rehearsal import with_rehearsal
from privee.attacks.chosen.straight import Additive, Logistic, is_additive
from privee.attacks.chosen.values import Values
from privee.attacks.registry import register
from privee.attacks.view import AttackerView, Oracle
from privee.attacks.watch import Watch
from privee.errors import PriveeError, SettingError
from privee.vfl.threads import torch_threads

PROBED = 16
POOL = 20
"""Real rows that a search starts from."""


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenColumns(Attack):
    """Every answer cuts what the unknown columns can still be; the next question cuts it in the middle.

    A release that keeps the ranking tells for K - 1 pairs of classes on which side of a plane the unknown columns lie,
    whatever it does to magnitudes. What magnitudes say is used as far as it can be trusted.

    Args:
        questions: how many times each record is asked about.
        allowed: own columns to ask with: "box" is anything in [0, 1], "rows" only such as other records have.
    """

    name: ClassVar[str] = "chosen-columns"
    place: ClassVar[int] = 70
    summary: ClassVar[str] = "asks about one record again and again, with own columns of its choice"
    needs: ClassVar[Needs] = Needs(oracle=True)
    adapts: ClassVar[str] = "judges on its own copy of the defense what magnitudes are worth"

    questions: int = 5
    allowed: Literal["box", "rows"] = "box"

    def __post_init__(self) -> None:
        if isinstance(self.questions, bool) or not isinstance(self.questions, int) or self.questions < 1:
            raise SettingError(f"questions must be 1 or more, got {self.questions!r}")
        if self.allowed not in ("box", "rows"):
            raise SettingError(f"allowed must be 'box' or 'rows', got {self.allowed!r}")

    def why_not(self, view: AttackerView) -> str | None:
        """Also if there are no rows to choose from."""
        no_rows = self.allowed == "rows" and view.auxiliary is None
        return super().why_not(view) or ("needs auxiliary rows to ask with" if no_rows else None)

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        return self.after_each(view, watch)[-1]

    def _estimates(self, view: AttackerView, watch: Watch) -> Sequence[Tensor]:
        return self.after_each(view, watch).unbind()

    def after_each(self, view: AttackerView, watch: Watch | None = None) -> Tensor:
        """The unknown columns as estimated after 0, 1, 2 ... questions, (questions + 1, n, columns)."""
        if view.oracle is None:
            raise PriveeError("the chosen-columns attack needs an oracle to ask")
        with torch_threads(1):  # many small products: threads would wait for each other
            return self._played(view, view.oracle, watch or Watch())

    def _played(self, view: AttackerView, oracle: Oracle, watch: Watch) -> Tensor:
        wider, rehearsal = with_rehearsal(view)
        seed = torch.initial_seed() % 2**31
        game = _Game(wider, _prior(view, wider), self.allowed, seed)
        asked = torch.zeros(self.questions, *wider.own.shape, dtype=wider.own.dtype)
        released = torch.zeros(self.questions, *wider.releases.shape[1:], dtype=wider.own.dtype)
        for step in watch.steps("questions", self.questions, {"asked": asked, "released": released}):
            game.learn(asked, released, step)  # what a checkpoint holds, if there is one
            asked[step] = game.next_question(step)
            released[step, : view.rows] = asked_of(oracle, asked[step, : view.rows])
            released[step, view.rows :] = rehearsal.answer(view, asked[step, view.rows :], seed + step)
            game.learn(asked, released, step + 1)
        game.learn(asked, released, self.questions)
        first = game.estimates[0]
        found = torch.stack([rehearsal.believed(first, estimate).clamp(0.0, 1.0) for estimate in game.estimates])
        if len(rehearsal.own):
            values = Values(wider, first)
            for k, answer in enumerate(game.answers):
                values.learn(answer)
                found[k + 1] = values.where_better(found[k + 1], rehearsal.unknown)
        return found[:, : view.rows]


class _Game:
    """What was learned so far; the same answers in the same order give the same belief."""

    def __init__(self, view: AttackerView, prior: Prior, allowed: str, seed: int) -> None:
        self._view, self._allowed, self._seed = view, allowed, seed
        self._differentiable = view.model.differentiable
        self._belief = belief_of(view, prior, self._differentiable, self._draws(0, "prior"))
        scores = torch.as_tensor(view.defense.telling_scores(view.model.n_classes), dtype=view.own.dtype)
        self._wanted = scores.log()
        self.estimates = [prior.guess]
        self.answers: list[Answer] = []

    def next_question(self, step: int) -> Tensor:
        """The own columns that tell most, for each record."""
        view, belief, draws = self._view, self._belief, self._draws(step, "question")
        seen = belief.points(SEEN, draws)

        def logits(own: Tensor) -> Tensor:
            return belief.logits(own, seen) - self._wanted

        pool = view.own if view.auxiliary is None else view.auxiliary.own
        if self._allowed == "rows":
            return best_row(logits, pool, len(seen))
        start = best_row(logits, pool[:POOL], len(seen))
        if isinstance(belief, Logistic):
            start = equal_logits(view.model, belief.expected(), start, self._wanted)
            if bool((unevenness(logits(start)) < EVEN).all()):
                return start
        return by_descent(logits, start) if self._differentiable else by_trial(logits, start, pool, draws)

    def learn(self, asked: Tensor, released: Tensor, count: int) -> None:
        """Take in the answers up to this many that were not yet."""
        belief = self._belief
        for step in range(len(self.estimates) - 1, count):
            draws = self._draws(step, "answer")
            with torch.no_grad():
                believed = belief.logits(asked[step], belief.points(points_to_try(released.shape[2]), draws))
            answer = answer_of(self._view, asked[step], released[step], believed, self._seed + step, belief.limits)
            belief.learn(answer, draws)
            self.answers.append(answer)
            self.estimates.append(belief.expected())

    def _draws(self, step: int, what: str) -> torch.Generator:
        places = ("prior", "question", "answer")
        return torch.Generator().manual_seed((self._seed * 1000 + step) * len(places) + places.index(what))


def _prior(view: AttackerView, wider: AttackerView) -> Prior:
    """Of the real records from all auxiliary rows; of rehearsed ones from the others, as if they were not known."""
    prior = prior_of(view)
    if wider is view:
        return prior
    return dataclasses.replace(prior, guess=torch.cat([prior.guess, prior_of(wider).guess[view.rows :]]))


def belief_of(view: AttackerView, prior: Prior, differentiable: bool, draws: torch.Generator) -> Belief:
    """As sharp a one as the model allows."""
    if view.model.linear is not None:
        return Logistic(view.model, prior)
    with torch.no_grad():
        adds_up = is_additive(view.model, view.own[:PROBED], prior.guess[:PROBED])
    if differentiable and adds_up:
        return Additive(view, prior, draws)
    return Particles(view.model, prior, draws)
