"""Zeroth-order: an inference model of a party that can ask, but knows no gradient of anything.

A network learns to fill in the unknown columns until the joint model, called with them, says what was answered. How
the match changes with the columns is estimated from differences of calls. Further questions, with other own columns,
give it more to match: what limits it is how often a record may be asked about, which a ledger counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from privee.attacks.base import Attack, Needs
from privee.attacks.candidates import read_noise
from privee.attacks.chosen.answers import asked_of
from privee.attacks.chosen.belief import prior_of
from privee.attacks.chosen.rehearsal import ROWS, Rehearsal
from privee.attacks.log_scores import SMALLEST, by_rank, centred, centred_log
from privee.attacks.registry import register
from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView, Oracle
from privee.attacks.watch import Watch
from privee.defenses.base import check_positive, check_whole
from privee.errors import PriveeError
from privee.vfl.threads import torch_threads

HIDDEN = 64
LEAST_NOISE = 0.05
"""Log-scores are never matched better than this: differences over a distance tell no more."""
STEEPEST = 100.0
"""Records whose match changes faster count no more than this, so that none drowns the others."""
INSIDE, LEAST_VARIANCE = 0.01, 1e-4
FEWEST, ONE_IN = 20, 4
"""From so many auxiliary rows on it is rehearsed, on one in four of them; with fewer nothing says how far to go."""


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class ZerothOrder(Attack):
    """Needs no gradients and no auxiliary rows; with such rows it starts from their guess.

    From 20 rows on it is rehearsed on some of them and is not worse than that guess but for chance, which of 20 rows is
    still large. With fewer nothing says how far to go: where answers say little it can be several times worse.

    Args:
        questions: how many times each record is asked about: first honestly, then with own columns of other rows.
        directions: along which differences are taken in a step, at right angles to each other.
        steps: of learning, after each question.
        distance: over which differences are taken.
        learning_rate: of Adam.
    """

    name: ClassVar[str] = "zeroth-order"
    place: ClassVar[int] = 72
    slow: ClassVar[bool] = True
    benched: ClassVar[tuple[str, ...]] = ("zeroth-order:questions=5",)
    summary: ClassVar[str] = "an inference model learned from differences of calls, for parties without gradients"
    needs: ClassVar[Needs] = Needs(oracle=True)
    adapts: ClassVar[str] = "undoes what is public of the defense, and matches no better than its own copy lets expect"
    published: ClassVar[str] = (
        'after Yang et al., "Practical feature inference attack in vertical federated learning during prediction in '
        'artificial Internet of Things", IEEE Internet of Things Journal 2024 (from its abstract; questions with '
        "other own columns, the prior and the rehearsal are this project's)"
    )

    questions: int = 5
    directions: int = 8
    steps: int = 150
    distance: float = 0.01
    learning_rate: float = 1e-2

    def __post_init__(self) -> None:
        check_whole(1, 1_000_000, questions=self.questions, directions=self.directions, steps=self.steps)
        check_positive(distance=self.distance, learning_rate=self.learning_rate)

    def calls(self) -> int:
        """How often the joint model is called for each record, with columns that were made up for it."""
        return self.steps * (self.directions + 1) * self.questions * (self.questions + 1) // 2

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        return self._estimates(view, watch)[-1]

    def _estimates(self, view: AttackerView, watch: Watch) -> Sequence[Tensor]:
        """Before any question, after one, and so on."""
        if view.oracle is None:
            raise PriveeError("the zeroth-order attack needs an oracle to ask")
        with torch_threads(1):  # many small products: threads would wait for each other
            return self._played(view, view.oracle, watch)

    def _played(self, view: AttackerView, oracle: Oracle, watch: Watch) -> Sequence[Tensor]:
        wider, rehearsal = _with_rehearsal(view)
        seed = torch.initial_seed() % 2**31
        # Of the records from all rows; of rehearsed ones from the others, as if they were not known.
        guess = torch.cat([prior_of(view).guess, prior_of(wider).guess[view.rows :]])
        asked = torch.zeros(self.questions, *wider.own.shape, dtype=wider.own.dtype)
        released = torch.zeros(self.questions, *wider.releases.shape[1:], dtype=wider.own.dtype)
        found = guess.repeat(self.questions + 1, 1, 1)
        net = _Inference(wider, guess)
        optimizer = torch.optim.Adam(net.parameters(), lr=self.learning_rate)
        state = {"asked": asked, "released": released, "found": found} | net.state_dict()
        matches = _Matches(wider, guess)
        for step in watch.steps("questions", self.questions * self.steps, state, optimizer):
            question, learned = divmod(step, self.steps)
            if learned == 0:
                asked[question] = _next_question(wider, question, seed)
                released[question] = _answered(view, oracle, rehearsal, asked[question], seed + question)
            matches.take_in(asked, released, question + 1)
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rate * (1 - 0.9 * learned / self.steps)
            self._learn(net, optimizer, matches, released[0])
            if learned == self.steps - 1:
                with torch.no_grad():
                    found[question + 1] = net(wider.own, matches.read(released[0]))
        kept = _best_so_far(found[:, view.rows :], rehearsal.unknown)
        return [rehearsal.believed(guess, found[k])[: view.rows].clamp(0.0, 1.0) for k in kept]

    def _learn(self, net: _Inference, optimizer: torch.optim.Optimizer, matches: _Matches, first: Tensor) -> None:
        optimizer.zero_grad()
        made = net(matches.own, matches.read(first))
        slope = matches.slope(made.detach(), self.directions, self.distance)
        (made * slope / (1 + slope.norm(dim=1, keepdim=True) / STEEPEST)).sum().backward()
        optimizer.step()


def _with_rehearsal(view: AttackerView) -> tuple[AttackerView, Rehearsal]:
    """The view with rows to rehearse on beside the real records; without, where few auxiliary rows are known."""
    rows = view.auxiliary
    if rows is None or len(rows) < FEWEST:
        return view, Rehearsal(view.own[:0], view.own.new_zeros(0, view.model.unknown_columns))
    count = min(ROWS, len(rows) // ONE_IN)
    some = rows.part(slice(count))
    nothing = view.releases.new_zeros(len(view.releases), count, view.model.n_classes)
    wider = dataclasses.replace(
        view,
        own=torch.cat([view.own, some.own]),
        releases=torch.cat([view.releases, nothing], dim=1),
        auxiliary=rows.part(slice(count, None)),
        codes=None,
    )
    return wider, Rehearsal(some.own, some.unknown, some.codes, some.noise)


class _Inference(nn.Module):
    """From own columns and what was answered honestly to the unknown columns; at first it says what is expected."""

    def __init__(self, view: AttackerView, guess: Tensor) -> None:
        super().__init__()
        self._level = torch.logit(guess.clamp(INSIDE, 1 - INSIDE))
        self._middle, self._spread = view.own.mean(dim=0), view.own.std(dim=0, correction=0) + 1e-6
        last = nn.Linear(HIDDEN, guess.shape[1])
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        width = view.own.shape[1] + view.model.n_classes
        self._layers = nn.Sequential(nn.Linear(width, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, HIDDEN), nn.SiLU(), last)

    def forward(self, own: Tensor, read: Tensor) -> Tensor:
        """Columns in [0, 1]."""
        inputs = torch.cat([(own - self._middle) / self._spread, read / 3], dim=1)
        return torch.sigmoid(self._level + self._layers(inputs.float()).double())


class _Matches:
    """How well columns explain all answers so far, as far as calls of the model can tell."""

    def __init__(self, view: AttackerView, guess: Tensor) -> None:
        self.own, self._view, self._guess = view.own, view, guess
        self._asked: list[Tensor] = []
        self._wanted: list[Tensor] = []
        self._weight: list[Tensor] = []
        rows = view.auxiliary
        self._noise, self._precision = torch.zeros(view.model.n_classes, dtype=view.own.dtype), torch.zeros(1)
        if rows is not None:
            with torch.no_grad():
                self._noise = read_noise(view, rows.scores(view.model), SMALLEST)
            left = rows.unknown - best_fit(rows.own, rows.unknown).out_of_sample(rows.own)
            self._precision = 1 / (left.square().mean(dim=0) + LEAST_VARIANCE)

    def read(self, release: Tensor) -> Tensor:
        """An answer as log-scores."""
        return centred_log(self._view.read(release))

    def take_in(self, asked: Tensor, released: Tensor, count: int) -> None:
        """Answers up to this many that were not yet."""
        for own, release in zip(asked[len(self._asked) : count], released[len(self._asked) : count], strict=True):
            self._asked.append(own.clone())
            self._wanted.append(self.read(release))
            self._weight.append(1 / (by_rank(self._noise, self._view.read(release)) + LEAST_NOISE**2))

    def slope(self, at: Tensor, count: int, distance: float) -> Tensor:
        """Of the match, from differences along some directions, and of what was expected; (n, columns)."""
        width = at.shape[1]
        count = min(count, width)
        directions = torch.linalg.qr(torch.randn(width, count, dtype=at.dtype))[0].T
        points = torch.cat([at[:, None], at[:, None] + distance * directions], dim=1)
        misses = self._missed(points)
        match = (misses[:, 1:] - misses[:, :1]) @ directions * (width / count / distance)
        return match + 2 * (at - self._guess) * self._precision

    def _missed(self, points: Tensor) -> Tensor:
        """Of several columns for each record, (n, points)."""
        with torch.no_grad():
            by_answer = self._view.model.logits_at_each(self._asked, points)
        missed = torch.zeros(points.shape[:2], dtype=points.dtype)
        for logits, wanted, weight in zip(by_answer, self._wanted, self._weight, strict=True):
            logs = torch.softmax(logits, dim=2).clamp_min(SMALLEST).log()
            off = centred(logs.flatten(0, 1)).view_as(logs) - wanted[:, None]
            missed += (off.square() * weight[:, None]).sum(dim=2)
        return missed


def _best_so_far(found: Tensor, truth: Tensor) -> list[int]:
    """After each question the estimate that did best on rehearsed rows, the first included; without any, the last."""
    if not len(truth):
        return list(range(len(found)))
    errors = (found - truth).square().mean(dim=(1, 2))
    return [int(errors[: k + 1].argmin()) for k in range(len(errors))]


def _next_question(view: AttackerView, question: int, seed: int) -> Tensor:
    """Honest at first; then each record with own columns of some other row."""
    if question == 0:
        return view.own
    pool = view.own if view.auxiliary is None else view.auxiliary.own
    draws = torch.Generator().manual_seed(seed * 1000 + question)
    return pool[torch.randint(len(pool), (view.rows,), generator=draws)]


def _answered(view: AttackerView, oracle: Oracle, rehearsal: Rehearsal, own: Tensor, seed: int) -> Tensor:
    real = asked_of(oracle, own[: view.rows])
    return torch.cat([real, rehearsal.answer(view, own[view.rows :], seed)])
