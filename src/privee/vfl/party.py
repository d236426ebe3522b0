"""The parties: each has its own columns, its own part of the model and its own optimizer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from privee.errors import PriveeError
from privee.vfl.learner import Learner
from privee.vfl.messages import (
    Embedding,
    EmbeddingAndGradient,
    LogitGradient,
    Logits,
    Message,
    Report,
    ReportRequest,
    Work,
    WorkAndLogits,
)
from privee.vfl.scaling import fit_scaling

MOST_WAITING = 2
"""Batches that may wait for their gradients: the last one and, in pipelined training, the one before."""


class PassiveParty:
    """Holds columns of the common records, in the aligned order, and turns them into embeddings."""

    def __init__(self, name: str, features: Tensor, model: nn.Module) -> None:
        self.name = name
        self.learner = Learner(model)
        self._features = features
        self._waiting: deque[tuple[Tensor, list[Tensor] | None]] = deque()

    def prepare(self, rows: Tensor, *, scaling: str = "none", class_weights: str = "none", seed: int = 0) -> None:
        """Fit what a training needs to know of its own rows, before the first step; nothing of it leaves the party.

        Args:
            rows: numbers of the training rows.
            scaling: how to bring the columns to one scale (see `privee.vfl.scaling`).
            class_weights: `balanced` is for the party with the labels.
            seed: of the training.
        """
        fit_scaling(self.learner.model, self._features[rows], scaling)

    def handle(self, message: Message) -> Message:
        """Answer one message of the coordinator."""
        if not isinstance(message, Work):
            raise PriveeError(f"party {self.name} does not answer {type(message).__name__} messages")
        return self._work(message)

    def _work(self, work: Work) -> Embedding:
        if work.gradient is not None:
            self._learn(work.gradient)
        if work.rows is None:
            return Embedding(None)
        return Embedding(self._embed(work.rows, work.train, work.ahead))

    def _embed(self, rows: Tensor, train: bool, ahead: bool = False) -> Tensor:
        self.learner.mode(train)
        batch = self._features[rows]
        if not train:
            with torch.inference_mode():
                output: Tensor = self.learner.model(batch)
                return output
        if not ahead:  # what still waits is of a training that broke off
            self._waiting.clear()
        elif len(self._waiting) >= MOST_WAITING:
            raise PriveeError(f"party {self.name} has {MOST_WAITING} batches that wait for their gradients already")
        made = self.learner.run_on_copies(batch) if ahead else (self.learner.model(batch), None)
        self._waiting.append(made)
        return made[0].detach()

    def _learn(self, gradient: Tensor) -> None:
        if not self._waiting:
            raise PriveeError(f"party {self.name} was sent a gradient but has no batch to learn from")
        output, copies = self._waiting.popleft()
        if copies is None:
            self.learner.step(output, gradient)
        else:
            self.learner.step_from_copies(output, copies, gradient)


class ActiveParty(PassiveParty):
    """Holds the labels as well: it alone turns logits into a loss."""

    def __init__(self, name: str, features: Tensor, model: nn.Module, labels: Tensor) -> None:
        super().__init__(name, features, model)
        if len(labels) != len(features):
            raise PriveeError(f"party {name} has {len(features)} rows of columns but {len(labels)} labels")
        self._labels = labels
        self._weights: Tensor | None = None
        self._beliefs: tuple[Tensor, float] | None = None
        self._forget()

    def prepare(self, rows: Tensor, *, scaling: str = "none", class_weights: str = "none", seed: int = 0) -> None:
        """The same, and what each class counts: with `balanced` all alike, a mean of 1 over the training rows."""
        super().prepare(rows, scaling=scaling, class_weights=class_weights, seed=seed)
        labels = self._labels[rows]
        if class_weights == "balanced":
            counts = torch.bincount(labels, minlength=int(self._labels.max()) + 1)
            self._weights = len(labels) / (counts.count_nonzero() * counts.clamp_min(1))

    def believe(self, rows: Tensor, scores: Tensor, share: float) -> None:
        """Learn these rows from a finished model's scores as well, to this share; their labels are the rest."""
        beliefs = functional.one_hot(self._labels.clamp_min(0), scores.shape[1]).to(scores.dtype)
        beliefs[rows] = scores
        self._beliefs = (beliefs, share)

    def handle(self, message: Message) -> Message:
        """Answer one message of the coordinator."""
        if isinstance(message, Logits):
            return self._judge(message)
        if isinstance(message, WorkAndLogits):
            return EmbeddingAndGradient(self._work(message.work), self._judge(message.logits))
        if isinstance(message, ReportRequest):
            return self._report()
        return super().handle(message)

    def _judge(self, message: Logits) -> LogitGradient:
        labels, count = self._labels[message.rows], len(message.rows)
        log_scores = functional.log_softmax(message.values, dim=1)
        weights = None if self._weights is None else self._weights[labels].to(log_scores.dtype)
        losses = functional.nll_loss(log_scores, labels, reduction="sum" if weights is None else "none")
        self._losses.append(losses if weights is None else (losses * weights).sum())
        self._hits.append((message.values.argmax(dim=1) == labels).sum())
        self._rows += count
        if not message.train:
            return LogitGradient(None)
        # Cross entropy's gradient in closed form: scores minus one at the label, over the batch.
        gradient = log_scores.exp_()
        sure = 1.0
        if self._beliefs is not None:
            beliefs, share = self._beliefs
            gradient.sub_(beliefs[message.rows].to(gradient.dtype), alpha=share)
            sure -= share
        gradient.scatter_add_(1, labels[:, None], torch.full((count, 1), -sure, dtype=gradient.dtype))
        if weights is not None:
            gradient.mul_(weights[:, None])
        return LogitGradient(gradient.div_(count))

    def _report(self) -> Report:
        count = max(1, self._rows)
        loss, hits = (sum(float(part) for part in parts) for parts in (self._losses, self._hits))
        report = Report(loss / count, hits / count, self._rows)
        self._forget()
        return report

    def _forget(self) -> None:
        self._losses: list[Tensor] = []
        self._hits: list[Tensor] = []
        self._rows = 0


class LocalChannel:
    """All parties in this process. `tap` sees every message, with sender and receiver, for tests and curiosity."""

    def __init__(self, parties: list[PassiveParty], tap: Callable[[str, str, Message], None] | None = None) -> None:
        self.parties = {party.name: party for party in parties}
        self._tap = tap
        if len(self.parties) != len(parties):
            raise PriveeError("two parties have the same name")

    def ask(self, requests: Mapping[str, Message]) -> dict[str, Message]:
        """Hand each party its message, one after the other."""
        replies = {}
        for name, request in requests.items():
            replies[name] = self.parties[name].handle(request)
            if self._tap:
                self._tap("coordinator", name, request)
                self._tap(name, "coordinator", replies[name])
        return replies
