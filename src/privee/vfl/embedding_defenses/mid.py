"""MID: a noisy bottleneck, trained to carry little (mutual information defense)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from privee.defenses import Guarantee
from privee.vfl.embedding_defenses.base import NOT_COVERED, EmbeddingDefense, Place, check_weight
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, with_penalty
from privee.vfl.embedding_defenses.registry import register
from privee.vfl.seal.steps import Steps

SHIFT = 0.5
LOW = -15.0
"""Below this softplus is e^x to the last bit of a float32, until it is 0 and has no logarithm."""


@register
@dataclasses.dataclass(frozen=True)
class Mid(EmbeddingDefense):
    """Sends z = mu + softplus(s - 0.5) e with normal e; the loss adds `weight` times the divergence of z from N(0, I).

    The mean of that divergence over all records would bound what z tells of one, in nats, on average. It is only known
    over the training records, which the model has seen: an estimate, and no bound for any single record.

    Args:
        weight: of the divergence, summed over the numbers of an embedding and averaged over records.
    """

    name: ClassVar[str] = "mid"
    place: ClassVar[int] = 10
    summary: ClassVar[str] = (
        "an embedding with learned noise, drawn once per record, and pulled towards telling nothing"
    )
    published: ClassVar[str] = "Zou et al. 2023, mutual information regularisation"
    benched: ClassVar[tuple[str, ...]] = ("mid", "mid:weight=0.005")
    """As public code has it, and where its page finds most kept for what it costs."""
    noisy: ClassVar[bool] = True

    weight: float = 0.5

    def __post_init__(self) -> None:
        check_weight(self.weight)

    def around(self, bottom: nn.Module, place: Place) -> DefendedBottom:
        """Two heads, for the mean and the spread."""
        return Bottleneck(self, bottom, place)

    def guarantee(self) -> Guarantee:
        """Nothing: the divergence over training records is an estimate."""
        more = (
            "the bound on information that the loss suggests: it is an estimate over the training records",
            "whoever holds the party's secret, or sees a record change: other columns get other noise",
        )
        return Guarantee(not_covered=(*more, *NOT_COVERED))


class Bottleneck(DefendedBottom):
    """Mean and spread of an embedding; in training one draw of it, elsewhere its mean."""

    def __init__(self, defense: Mid, bottom: nn.Module, place: Place) -> None:
        super().__init__(defense.spec, bottom)
        self.noise_width = place.width
        self._weight = defense.weight
        self.heads = nn.Linear(place.width, 2 * place.width)
        self.steps = Steps(f"{place.role} mid", torch.special.ndtri)

    def spread(self, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of what is sent."""
        mean, raw = self._raw(embedding)
        return mean, functional.softplus(raw)

    def _raw(self, embedding: Tensor) -> tuple[Tensor, Tensor]:
        mean, raw = self.heads(embedding).chunk(2, dim=1)
        return mean, raw - SHIFT

    def forward(self, columns: Tensor) -> Tensor:
        """A draw while training, with its penalty; else the mean."""
        embedding: Tensor = self.bottom(columns)
        mean, raw = self._raw(embedding)
        if not self.training:
            return mean
        deviation = functional.softplus(raw)
        drawn = mean + deviation * self.steps.next(*mean.shape).to(mean.dtype)
        return with_penalty(drawn, self._weight * divergence(mean, deviation, log_softplus(raw)).mean())

    def sent(self, columns: Tensor, noise: Tensor) -> Tensor:
        """With the noise of these records."""
        mean, deviation = self.spread(self.bottom(columns))
        return mean + deviation * noise.to(mean.dtype)

    @property
    def predicting(self) -> nn.Module:
        """All of it."""
        return self


def divergence(mean: Tensor, deviation: Tensor, log_deviation: Tensor | None = None) -> Tensor:
    """Of N(mean, deviation^2) from N(0, I), for each record, in nats."""
    logs = deviation.log() if log_deviation is None else log_deviation
    return 0.5 * (mean.square() + deviation.square() - 1 - 2 * logs).sum(dim=1)


def log_softplus(raw: Tensor) -> Tensor:
    """Finite, with a finite slope, where softplus itself is 0: else one such number ends a training."""
    above = raw.clamp_min(LOW)
    return functional.softplus(above).log() + (raw - above)
