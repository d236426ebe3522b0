"""Learned inversion: regression on simulated releases. An adaptive one knows the mechanism by construction.

It is given the ranking in a usable form: rank positions, the log-scores expected at each position, and all of these
minus what own columns and a guess of the unknown ones explain. Without that, ranking-only releases look safer than
they are.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.registry import register
from privee.attacks.regressors import Fit, all_fits, best_fit
from privee.attacks.release_inputs import ReleaseInputs
from privee.attacks.view import AttackerView, Auxiliary
from privee.attacks.watch import Watch
from privee.errors import PriveeError

Examples = tuple[Tensor, Tensor]


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class LearnedInversion(Attack):
    """First the best guess from own columns, then a regression of what that misses on what the release shows.

    The regressions compete on held-out auxiliary rows, and so does adding nothing to the guess.

    Args:
        simulations: how often each auxiliary row is simulated (a naive attacker simulates undefended scores).
        own_columns: False leaves them out, guess and all, to see what the release gives away by itself.
    """

    name: ClassVar[str] = "learned-inversion"
    place: ClassVar[int] = 40
    summary: ClassVar[str] = "a regression on simulated releases, given the ranking explicitly"
    needs: ClassVar[Needs] = Needs(auxiliary=True)
    audited: ClassVar[tuple[str, ...]] = ("learned-inversion",)
    quick: ClassVar[bool] = True
    adapts: ClassVar[str] = "undoes what is public of the defense, and learns from releases of its own copy of it"

    simulations: int = 2
    own_columns: bool = True

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        rows = view.auxiliary
        if rows is None:
            raise PriveeError("learned inversion needs auxiliary rows")
        there, here = self._guesses(view, rows)
        scores = rows.scores(view.model)
        encode = ReleaseInputs(view.model, scores, self.own_columns)
        simulated = view.simulations(rows, scores, self.simulations)
        fit = _best(encode(simulated, rows.own, there), rows.unknown - there)
        if fit is None:
            return here.clamp(0.0, 1.0)
        (inputs,) = encode([view.seen], view.own, here)
        return (here + fit(inputs)).clamp(0.0, 1.0)

    def _guesses(self, view: AttackerView, rows: Auxiliary) -> Examples:
        """Of the auxiliary rows (each as if it had not been there) and of the records under attack."""
        if not self.own_columns:
            means = rows.unknown.mean(dim=0)
            return means.expand(len(rows), -1), means.expand(view.rows, -1)
        guess = best_fit(rows.own, rows.unknown)
        return guess.out_of_sample(rows.own), guess(view.own)


def _best(inputs: list[Tensor], missed: Tensor) -> Fit | None:
    """The regression that does best on every fifth row, kept out of training; None if zero does."""
    held = torch.arange(len(missed)) % 5 == 0

    def joined(chosen: Tensor) -> Examples:
        return torch.cat([x[chosen] for x in inputs]), missed[chosen].repeat(len(inputs), 1)

    x, y = joined(held)
    best, smallest = None, float(y.square().mean())
    for fit in all_fits(*joined(~held)):
        error = float((fit(x) - y).square().mean())
        if error < smallest:
            best, smallest = fit, error
    return best
