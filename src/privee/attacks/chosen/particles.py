"""Answers of any model: many guesses for every record, moved until they explain what was answered.

Particles are drawn from what auxiliary rows say and moved along differences of one another (slice sampling), so that
they spread as what is possible does. An answer that few of them explain is taken in gradually: at first a class may be
a little below another that was shown above it, by less and less as particles come closer together.
"""

from __future__ import annotations

import torch
from torch import Tensor

from privee.attacks.chosen.answers import Answer, Limits
from privee.attacks.chosen.belief import Prior
from privee.attacks.white_box import WhiteBox

PARTICLES, STAGES, SWEEPS, TRIES = 20, 4, 4, 4
SOFTNESS = 0.4
"""How far an answer may be missed, in units of how far particles differ about it."""
OUTSIDE = 0.02
"""How far columns may lie outside [0, 1]."""
HOPELESS = 15.0
"""A particle so much less likely (in logs) than the best one is replaced."""


class Particles:
    """What is possible after some answers of any model; a `Belief`."""

    limits = Limits(resolution=1e-4, share=1.0)

    def __init__(self, model: WhiteBox, prior: Prior, generator: torch.Generator, count: int = PARTICLES) -> None:
        self._model, self._prior = model, prior
        shape = (len(prior.guess), count, prior.directions)
        self._y = torch.randn(shape, generator=generator, dtype=prior.guess.dtype)
        self._answers: list[Answer] = []
        self._expected = prior.guess

    def expected(self) -> Tensor:
        """Their mean over the last sweeps."""
        return self._expected

    def points(self, count: int, generator: torch.Generator) -> Tensor:
        """Columns of some of them; where more are wanted than there are, of points between two as well."""
        n, particles, r = self._y.shape
        if count <= particles:
            return self._prior.columns(self._y[:, :count])
        places = (torch.randint(particles, (n, count, 1), generator=generator).expand(-1, -1, r) for _ in range(2))
        middle = self._y.mean(dim=1, keepdim=True)
        one, other = (self._y.gather(1, place) - middle for place in places)
        share = torch.rand(n, count, 1, generator=generator, dtype=self._y.dtype)
        return self._prior.columns(middle + share.sqrt() * one + (1 - share).sqrt() * other)

    def logits(self, own: Tensor, points: Tensor) -> Tensor:
        """Of columns."""
        return self._model.logits_at(own, points)

    def learn(self, answer: Answer, generator: torch.Generator) -> None:
        """Move until all answers are explained."""
        self._answers.append(answer)
        with torch.no_grad():
            kept = []
            for stage in range(STAGES):
                softness = self._softness()
                likely = self._likelihood(self._y, softness)
                self._y, likely = _without_hopeless(self._y, likely, generator)
                for _ in range(SWEEPS):
                    self._y, likely = self._sweep(self._y, likely, softness, generator)
                    if stage >= STAGES - 2:
                        kept.append(self._prior.columns(self._y).mean(dim=1))
        self._expected = torch.stack(kept).mean(dim=0)

    def _outcomes(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """What all answers show of y: gaps that must not be negative, and how far off values are, in their noise."""
        columns = self._prior.columns(y)
        gaps, values = [], []
        by_answer = self._model.logits_at_each([answer.own for answer in self._answers], columns)
        for answer, logits in zip(self._answers, by_answer, strict=True):
            gaps.append(torch.where(answer.shown[:, None], answer.gaps(logits), torch.inf))
            if answer.reading is not None:
                values.append(answer.reading.sums(logits) - answer.reading.value[:, None])
        return torch.cat(gaps, dim=2), torch.cat(values, dim=2) if values else y[..., :0]

    def _softness(self) -> tuple[Tensor, Tensor]:
        gaps, values = self._outcomes(self._y)
        spread = torch.where(gaps.isfinite(), gaps, 0.0).std(dim=1, keepdim=True)
        noise = [1 / a.reading.precision.clamp_min(1e-30).sqrt() for a in self._answers if a.reading is not None]
        least = torch.cat(noise, dim=1)[:, None] if noise else values[:, :1]
        may_miss = torch.maximum(least, SOFTNESS * values.std(dim=1, keepdim=True)) if noise else least
        return (SOFTNESS * spread).clamp_min(1e-6), may_miss

    def _likelihood(self, y: Tensor, softness: tuple[Tensor, Tensor]) -> Tensor:
        gaps, values = self._outcomes(y)
        columns = self._prior.columns(y)
        outside = (columns - columns.clamp(0.0, 1.0)) / OUTSIDE
        explained = torch.nn.functional.logsigmoid(gaps / softness[0]).sum(dim=2)
        far = (values / softness[1]).square().sum(dim=2) + outside.square().sum(dim=2) + y.square().sum(dim=2)
        return explained - far / 2

    def _sweep(
        self, y: Tensor, likely: Tensor, softness: tuple[Tensor, Tensor], generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """One step of slice sampling of every particle, along the difference of two others or anywhere."""
        n, count, _ = y.shape

        def uniform() -> Tensor:
            return torch.rand(n, count, generator=generator, dtype=y.dtype)

        along = _differences(y, generator)
        height = likely + uniform().log()
        low = -2 * uniform()
        high, moved = low + 2, torch.zeros(n, count, dtype=torch.bool)
        found, worth = y, likely
        for _ in range(TRIES):
            at = low + (high - low) * uniform()
            tried = y + at[..., None] * along
            tried_worth = self._likelihood(tried, softness)
            taken = (tried_worth > height) & ~moved
            found = torch.where(taken[..., None], tried, found)
            worth = torch.where(taken, tried_worth, worth)
            moved = moved | taken
            if moved.all():
                break
            low, high = torch.where(at < 0, at, low), torch.where(at >= 0, at, high)
        return found, worth


def _differences(y: Tensor, generator: torch.Generator) -> Tensor:
    n, count, r = y.shape
    places = torch.rand(n, count, count, generator=generator).topk(2, dim=2).indices
    one, other = (y.gather(1, places[..., k, None].expand(-1, -1, r)) for k in range(2))
    anywhere = torch.randn(n, count, r, generator=generator, dtype=y.dtype) * y.std(dim=1, keepdim=True)
    return torch.where(torch.rand(n, count, 1, generator=generator) < 0.15, anywhere, one - other)


def _without_hopeless(y: Tensor, likely: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Particles that explain nothing start again where others are."""
    hopeless = likely < likely.amax(dim=1, keepdim=True) - HOPELESS
    drawn = torch.multinomial(torch.softmax(likely, dim=1), y.shape[1], replacement=True, generator=generator)
    source = torch.where(hopeless, drawn, torch.arange(y.shape[1]).expand_as(drawn))
    return y.gather(1, source[..., None].expand_as(y)), likely.gather(1, source)
