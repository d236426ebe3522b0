"""Scores as log-scores: where a model's logits are linear, and where small classes count too."""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST = 1e-12
"""Below this a score says nothing: releases are rounded, and 2/K was subtracted from them."""


def centred_log(scores: Tensor) -> Tensor:
    """Log-scores with each record's mean taken out, which removes the unknown constant of a softmax."""
    logs = scores.clamp_min(SMALLEST).log()
    return logs - logs.mean(dim=1, keepdim=True)


def centred(logits: Tensor) -> Tensor:
    """Logits with each record's mean taken out."""
    return logits - logits.mean(dim=1, keepdim=True)


def by_rank(values: Tensor, scores: Tensor) -> Tensor:
    """Place values given by rank position (leading class first) where each record's classes are."""
    order = (-scores).argsort(dim=1, stable=True)
    return torch.empty_like(scores).scatter_(1, order, values.to(scores.dtype).expand_as(scores))


def in_rank_order(values: Tensor, scores: Tensor) -> Tensor:
    """A record's values, leading class first."""
    return values.gather(1, (-scores).argsort(dim=1, stable=True))
