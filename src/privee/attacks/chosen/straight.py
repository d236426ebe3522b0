"""Beliefs about models whose logits are a sum of what own and what unknown columns say.

Of a logistic model the unknown columns' part is a line in them; of two networks joined by one dense layer it is not,
but the *part* is still cut by planes, and the columns that give such a part are found last, by descent.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from privee.attacks.chosen.answers import Answer, Limits
from privee.attacks.chosen.belief import Prior, spread_of
from privee.attacks.chosen.planes import CutGaussian
from privee.attacks.descent import adam
from privee.attacks.regressors import best_fit
from privee.attacks.view import AttackerView
from privee.attacks.white_box import WhiteBox

ADDITIVE = 1e-4
DRAWN, MEMBERS, STEPS, RATE = 512, 8, 200, 0.05
OUTSIDE, BOXED = 0.02, 32
"""How far columns may lie outside [0, 1], if there are few enough to know each of them well."""
WIDEST, NARROWEST = 1.0, 1e-3
"""How precisely columns must explain the part that was found, in its own spread: from the first step to the last."""


class Logistic:
    """Of a logistic model; a `Belief`."""

    limits = Limits()

    def __init__(self, model: WhiteBox, prior: Prior) -> None:
        assert model.linear is not None  # noqa: S101 (that is what makes it logistic)
        self._model, self._prior = model, prior
        self._y = CutGaussian(model.linear @ prior.mapping, self._logits_at_guess, len(prior.guess), self.limits)

    def _logits_at_guess(self, own: Tensor) -> Tensor:
        return self._model.logits(own, self._prior.guess)

    def expected(self) -> Tensor:
        """The mean of what is possible."""
        return self._prior.columns(self._y.mean)

    def points(self, count: int, generator: torch.Generator) -> Tensor:
        """Columns."""
        return self._prior.columns(self._y.samples(count, generator))

    def logits(self, own: Tensor, points: Tensor) -> Tensor:
        """Of columns."""
        return self._model.logits_at(own, points)

    def learn(self, answer: Answer, generator: torch.Generator) -> None:
        """Cut once more."""
        self._y.learn(answer)


class Additive:
    """Of any differentiable model whose logits add up; a `Belief`. Points are parts: logits with own columns of 0."""

    limits = Limits(resolution=1e-4)

    def __init__(self, view: AttackerView, prior: Prior, generator: torch.Generator) -> None:
        self._model, self._prior = view.model, prior
        self._generator = generator
        self._reached: Tensor | None = None
        self._own = torch.zeros(1, view.own.shape[1], dtype=view.own.dtype)
        self._unknown = prior.guess[:1]
        with torch.no_grad():
            self._zero = self._model.logits(self._own, self._unknown)
            guess, spread = self._parts(view)
        values, vectors = torch.linalg.eigh(spread)
        kept = values > 1e-9 * values.max()
        self._parts_prior = Prior(guess, vectors[:, kept] * values[kept].sqrt())
        self._y = CutGaussian(self._parts_prior.mapping, self._logits_at_guess, len(guess), self.limits)

    def _parts(self, view: AttackerView) -> tuple[Tensor, Tensor]:
        """The unknown columns' part of the logits: what own columns let expect, and how far it is off."""
        if view.auxiliary is None:
            shape = (DRAWN, view.model.unknown_columns)
            found = self._part(torch.rand(shape, generator=self._generator, dtype=view.own.dtype))
            off = found - found.mean(dim=0)
            return found.mean(dim=0).expand(view.rows, -1), off.T @ off / len(off)
        found = self._part(view.auxiliary.unknown)
        fit = best_fit(view.auxiliary.own, found)
        guess = fit(view.own)
        return guess - guess.mean(dim=1, keepdim=True), spread_of(found - fit.out_of_sample(view.auxiliary.own))

    def _part(self, unknown: Tensor) -> Tensor:
        logits = self._model.logits(self._own.expand(len(unknown), -1), unknown)
        return logits - logits.mean(dim=1, keepdim=True)

    def _own_part(self, own: Tensor) -> Tensor:
        return self._model.logits(own, self._unknown.expand(len(own), -1)) - self._zero

    def _logits_at_guess(self, own: Tensor) -> Tensor:
        return self._own_part(own) + self._parts_prior.guess

    def points(self, count: int, generator: torch.Generator) -> Tensor:
        """Parts."""
        return self._parts_prior.columns(self._y.samples(count, generator))

    def logits(self, own: Tensor, points: Tensor) -> Tensor:
        """Of parts."""
        return self._own_part(own)[:, None] + points

    def learn(self, answer: Answer, generator: torch.Generator) -> None:
        """Cut once more."""
        self._y.learn(answer)

    def expected(self) -> Tensor:
        """The mean over several descents, each from a draw of what was known before to a draw of the part.

        The draws are the same after every answer, so a descent goes on where the last one ended.
        """
        n, draws = len(self._prior.guess), torch.Generator().manual_seed(self._generator.initial_seed())
        wanted = _mirrored(self._y.samples(MEMBERS // 2, draws), self._y.mean[:, None])
        shape = (n, MEMBERS // 2, self._prior.directions)
        known = _mirrored(torch.randn(shape, generator=draws, dtype=wanted.dtype), 0.0)
        y = (known if self._reached is None else self._reached).clone()
        slopes = self._slopes_of_explaining(wanted, known)
        first, second = torch.zeros_like(y), torch.zeros_like(y)
        for step in range(STEPS):
            done = step / (STEPS - 1)
            downhill = slopes(y, WIDEST * (NARROWEST / WIDEST) ** done)
            adam(y, downhill, first, second, RATE * (1 - done) + RATE / 50, step + 1)
        self._reached = y
        return self._columns(y).reshape(n, MEMBERS, -1).mean(dim=1)

    def _columns(self, y: Tensor) -> Tensor:
        return self._prior.guess.repeat_interleave(MEMBERS, dim=0) + y @ self._prior.mapping.T

    def _slopes_of_explaining(self, wanted: Tensor, known: Tensor) -> Callable[[Tensor, float], Tensor]:
        """Slopes in y of how badly it explains the part that was drawn and what was known, if so much may be missed.

        That is, of the sum of squares of what is missed of the part, in units of its own spread, and of `y - known`;
        and, of few columns, of how far they lie outside. All but the model's own slopes is written out: to find those
        of a dozen small steps took longer than the steps.
        """
        values, vectors = torch.linalg.eigh(self._y.covariance)
        values, back = values.clamp_min(0.0), torch.linalg.pinv(self._parts_prior.mapping)
        guess = self._prior.guess.repeat_interleave(MEMBERS, dim=0)
        # In directions of the belief: what is missed is `part @ back.T - aimed`, and its slopes go back by `back`.
        aimed = self._parts_prior.guess.repeat_interleave(MEMBERS, dim=0) @ back.T + wanted
        mapping, boxed = self._prior.mapping, guess.shape[1] <= BOXED

        def slopes(y: Tensor, may_miss: float) -> Tensor:
            columns = torch.addmm(guess, y, mapping.T).requires_grad_()
            part = self._part(columns)
            weights = (vectors / (values + may_miss**2)[:, None]) @ vectors.mT
            off = torch.addmm(aimed, part.detach(), back.T, beta=-1.0)
            pull = (off.view(len(values), MEMBERS, -1) @ weights).flatten(0, 1) @ back
            (found,) = torch.autograd.grad(part, columns, pull)
            if boxed:
                outside = columns.detach()
                found = found.add(outside - outside.clamp(0.0, 1.0), alpha=OUTSIDE**-2)
            return torch.addmm(y - known, found, mapping).mul_(2.0)

        return slopes


def _mirrored(drawn: Tensor, middle: Tensor | float) -> Tensor:
    """Draws and their mirror images, so that few of them have the right mean; a row for each."""
    return torch.cat([drawn, 2 * middle - drawn], dim=1).flatten(0, 1)


def is_additive(model: WhiteBox, own: Tensor, unknown: Tensor) -> bool:
    """Do logits add up from what own and what unknown columns say, whatever the columns?"""
    here, there = (model.logits_at(one, unknown[None].expand(len(own), -1, -1)) for one in (own, own.flip(0)))
    off = (here - there) - (here - there)[:, :1]
    return bool((off - off.mean(dim=2, keepdim=True)).abs().max() <= ADDITIVE * here.std())
