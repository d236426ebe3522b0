"""Sealed code: all that anyone can ever learn of a sealed party's record is given, and used as well as can be.

Whatever is released of a record, to whatever questions, is worked out from its code and from what the attacker holds.
So this attacker is given the code itself, and no release, no question and no coordinator's view is worth more.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from privee.attacks.base import Attack, Needs
from privee.attacks.boosted_trees import learn_by_trees
from privee.attacks.column_learning import MOST_EXAMPLES, Learner, leading_directions, told_best
from privee.attacks.logistic_regression import learn_linearly
from privee.attacks.registry import register
from privee.attacks.regressors import RIDGES, Fit, all_fits, best_fit
from privee.attacks.view import AttackerView, Auxiliary
from privee.attacks.watch import Watch
from privee.attacks.white_box import WhiteBox
from privee.data.columns import SourceColumn
from privee.errors import PriveeError, SettingError
from privee.randomness import seeded

KEPT_OUT = 5
"""Every fifth auxiliary row is kept out, to see which learner does best."""
SURELY = 2.0
"""A learner of single columns is taken if it does better by so many standard errors: chance picks one now and then."""
Regression = Callable[[Tensor], Tensor]
LEARNERS: tuple[Learner, ...] = (learn_by_trees, learn_linearly)


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class SealedCode(Attack):
    """Each private column from the codes themselves and own columns.

    By a Gaussian-kernel or ridge regression of all columns at once, boosted trees, logistic or ridge regression.

    Args:
        learner: "best" takes the one with the smallest error on auxiliary rows that are kept out; "trees" always takes
            trees, which often tell best who is who where the error is made by a few.
        simulations: how often each auxiliary row's code is drawn, where it is drawn at all.
        own_columns: False leaves them out, to see what a code gives away by itself.
    """

    name: ClassVar[str] = "sealed-code"
    place: ClassVar[int] = 80
    summary: ClassVar[str] = "each column from a sealed party's code itself, which no question can beat"
    needs: ClassVar[Needs] = Needs(auxiliary=True, codes=True)
    by_column: ClassVar[bool] = True
    quick: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ("sealed-code", "sealed-code:learner=trees")
    adapts: ClassVar[str] = "needs no release, so no defense matters"

    learner: Literal["best", "trees"] = "best"
    simulations: int = 4
    own_columns: bool = True

    def __post_init__(self) -> None:
        if self.learner not in ("best", "trees"):
            raise SettingError(f"learner must be 'best' or 'trees', got {self.learner!r}")

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        rows = view.auxiliary
        if rows is None or view.codes is None:
            raise PriveeError("the sealed-code attack needs auxiliary rows and codes")
        middle, turn = rows.own.mean(dim=0), leading_directions(rows.own)
        there, here = ((own - middle) @ turn if self.own_columns else own[:, :0] for own in (rows.own, view.own))
        drawn = simulated_codes(view.model, rows, self.simulations)
        examples = Examples(
            torch.cat([torch.cat([there, as_numbers(view.model, codes)], dim=1) for codes in drawn]),
            rows.unknown.repeat(len(drawn), 1),
            rows=len(rows),
            own=there.shape[1],
        )
        new = torch.cat([here, as_numbers(view.model, view.codes)], dim=1)
        return learned(view.columns, examples, new, watch, always=LEARNERS[0] if self.learner == "trees" else None)


def simulated_codes(model: WhiteBox, rows: Auxiliary, times: int) -> list[Tensor]:
    """What might have been sent for auxiliary rows: once where codes are sent as they are, else drawn several times."""
    often = any(part.seal.epsilon is not None for part in model.sealed)
    times = max(1, min(times, MOST_EXAMPLES // len(rows))) if often else 1
    drawn = (model.simulated_codes(rows.own, rows.unknown, seeded(k, "simulated codes")) for k in range(times))
    return [codes for codes in drawn if codes is not None]


def as_numbers(model: WhiteBox, codes: Tensor) -> Tensor:
    """One-hot codes of the parties whose columns are not all the attacker's."""
    hidden = [k for k, held in enumerate(model.held) if not held]
    parts = [functional.one_hot(codes[:, k].long(), model.sealed[k].seal.codes).double() for k in hidden]
    return torch.cat(parts, dim=1)


def learned(
    columns: Sequence[SourceColumn], examples: Examples, new: Tensor, watch: Watch, always: Learner | None = None
) -> Tensor:
    """All columns by the best regression of all at once; where a learner of single columns does better, by that.

    Args:
        columns: what is learned.
        examples: learned from; some are kept out, to see which does better.
        new: inputs of the records under attack.
        watch: sees every column that is learned by itself.
        always: this learner, where columns are learned by themselves.
    """
    from threadpoolctl import threadpool_limits

    others, kept_out = examples.without_some()
    best, tried = min(enumerate(regressions(others)), key=lambda one: _miss(one[1](kept_out.inputs), kept_out.outputs))
    told = tried(kept_out.inputs).clamp(0.0, 1.0)
    found = next(itertools.islice(regressions(examples), best, None))(new).clamp(0.0, 1.0)
    varied = [column for column in columns if np.ptp(kept_out.outputs[:, list(column.places)].numpy(), axis=0).any()]
    chosen = told_best(varied, kept_out.outputs.numpy(), told.numpy())
    with threadpool_limits(1):  # small work, which threads that wait for each other make slow
        for k in watch.steps("columns", len(chosen), {"found": found}):
            places = list(chosen[k].places)
            learner = always or _best_alone(others, kept_out, told, places, k)
            if learner is not None:
                found[:, places] = _alone(learner, examples, new, places, k)
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Auxiliary rows, several times over if their codes are drawn several times.

    Attributes:
        inputs: own columns and codes, (examples, numbers).
        outputs: the private columns.
        rows: how many auxiliary rows there are; these are the first examples, and then come again.
        own: how many of the inputs are own columns.
    """

    inputs: Tensor
    outputs: Tensor
    rows: int
    own: int

    def without_some(self) -> tuple[Examples, Examples]:
        """Those of most rows, and those of the rows kept out."""
        out = torch.arange(len(self.inputs)) % self.rows % KEPT_OUT == 0
        return self._only(~out), self._only(out)

    def _only(self, these: Tensor) -> Examples:
        return Examples(self.inputs[these], self.outputs[these], int(these[: self.rows].sum()), self.own)


def regressions(examples: Examples) -> Iterator[Regression]:
    """Of all columns at once: straight from own columns and codes, or a guess from own columns moved by the codes."""
    yield from all_fits(examples.inputs, examples.outputs)
    if not examples.own:
        return
    own = examples.inputs[: examples.rows, : examples.own]
    guess = best_fit(own, examples.outputs[: examples.rows])
    times = len(examples.inputs) // examples.rows
    missed = examples.outputs - guess.out_of_sample(own).repeat(times, 1)
    yield _Moved(guess, None, examples.own)
    for by_code in itertools.islice(all_fits(examples.inputs[:, examples.own :], missed), len(RIDGES)):
        yield _Moved(guess, by_code, examples.own)


@dataclasses.dataclass(frozen=True, eq=False)
class _Moved:
    """A guess from own columns, and what codes add to it."""

    guess: Fit
    by_code: Fit | None
    own: int

    def __call__(self, inputs: Tensor) -> Tensor:
        found = self.guess(inputs[:, : self.own])
        return found if self.by_code is None else found + self.by_code(inputs[:, self.own :])


def _best_alone(others: Examples, kept_out: Examples, told: Tensor, places: list[int], seed: int) -> Learner | None:
    """The learner that does better on rows kept out than what is told of them already, beyond chance; None if none."""
    truth = kept_out.outputs[:, places]
    misses = [(_alone(learner, others, kept_out.inputs, places, seed) - truth).square() for learner in LEARNERS]
    best = min(range(len(LEARNERS)), key=lambda k: float(misses[k].sum()))
    gained = ((told[:, places] - truth).square() - misses[best]).sum(dim=1).view(-1, kept_out.rows).mean(dim=0)
    return LEARNERS[best] if gained.mean() > SURELY * gained.std() / kept_out.rows**0.5 else None


def _alone(learner: Learner, examples: Examples, new: Tensor, places: list[int], seed: int) -> Tensor:
    found = learner(examples.inputs.numpy(), examples.outputs[:, places].numpy(), new.numpy(), seed)
    return torch.from_numpy(found.clip(0.0, 1.0))


def _miss(estimate: Tensor, truth: Tensor) -> float:
    return float((estimate.clamp(0.0, 1.0) - truth).square().mean())
