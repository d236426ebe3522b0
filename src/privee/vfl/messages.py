"""What crosses between a party and the coordinator: embeddings up, gradients down, row numbers to say whose.

Row numbers are positions in the aligned order, the same at every party. No message has room for a feature, a label
or a parameter. Two things do follow from what crosses, in any such system: the gradient at the logits tells the
coordinator the label, and during training the active party sees the logits of training records.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from torch import Tensor


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """Coordinator to party: learn from the oldest waiting batch's gradient, then embed these rows.

    Either may be absent. `ahead` says that the batch before these rows still waits for its gradient.
    """

    gradient: Tensor | None
    rows: Tensor | None
    train: bool
    ahead: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Embedding:
    """Party to coordinator: its part of the rows, as its model sees them."""

    values: Tensor | None


@dataclasses.dataclass(frozen=True, slots=True)
class Logits:
    """Coordinator to the active party: what the joint model says, to be compared with the labels there."""

    values: Tensor
    rows: Tensor
    train: bool


@dataclasses.dataclass(frozen=True, slots=True)
class LogitGradient:
    """Active party to coordinator: which way the logits should go; None when not training."""

    values: Tensor | None


@dataclasses.dataclass(frozen=True, slots=True)
class WorkAndLogits:
    """Coordinator to the active party, in pipelined training: the next batch's work and the last batch's logits."""

    work: Work
    logits: Logits


@dataclasses.dataclass(frozen=True, slots=True)
class EmbeddingAndGradient:
    """Active party to coordinator, in pipelined training: its answers to both."""

    embedding: Embedding
    gradient: LogitGradient


@dataclasses.dataclass(frozen=True, slots=True)
class ReportRequest:
    """Coordinator to the active party: how well did it go since the last report?"""


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Active party to coordinator: means over the rows seen since the last report."""

    loss: float
    accuracy: float
    rows: int


Message = Work | Embedding | Logits | LogitGradient | WorkAndLogits | EmbeddingAndGradient | ReportRequest | Report


class Channel(Protocol):
    """A way to reach the parties; the roles do not care whether it crosses a network."""

    def ask(self, requests: Mapping[str, Message]) -> dict[str, Message]:
        """Send each named party its message and return their replies."""
