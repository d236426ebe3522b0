"""Pipelined training: one exchange per step, in which the last batch is judged while the next one is embedded.

A batch is then embedded before the gradient of the one before it is known, with weights one step older than in
`Coordinator.train_epoch`: another algorithm with a result of its own, the same on every run and over every line.
Its gradients are taken at the weights that made the embedding, and applied to those of now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from torch import Tensor

from privee.errors import PriveeError
from privee.vfl.coordinator import Coordinator
from privee.vfl.messages import EmbeddingAndGradient, Logits, Message, Report, Work, WorkAndLogits
from privee.vfl.seal.books import entered


class Batch(NamedTuple):
    """A batch that waits for its gradient at the logits."""

    rows: Tensor
    embeddings: list[Tensor]
    logits: Tensor


def pipelined_epoch(coordinator: Coordinator, batches: Iterable[Tensor]) -> Iterator[Report | None]:
    """Train over batches of row numbers; yields None after each and the active party's report at the end."""
    coordinator.learner.mode(train=True)
    pipe = _Pipe(coordinator)
    for rows in batches:
        pipe.advance(rows)
        yield None
    pipe.advance(None)  # the last batch's logits
    pipe.advance(None)  # and its gradients: nothing waits when the epoch ends
    yield coordinator.report()


class _Pipe:
    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._gradients: dict[str, Tensor | None] = dict.fromkeys(coordinator.parties)
        self._batch: Batch | None = None

    def advance(self, rows: Tensor | None) -> None:
        """Deliver the gradients that are there, have the last batch judged, and fetch the next embeddings."""
        gradient, replies = self._judged(self._coordinator.channel.ask(self._requests(rows)))
        embeddings = [self._coordinator.embedding_of(name, replies[name]) for name in self._coordinator.parties]
        self._gradients = self._learn(gradient)
        self._batch = None if rows is None else self._forward(rows, [e for e in embeddings if e is not None])

    def _requests(self, rows: Tensor | None) -> dict[str, Message]:
        ahead, active = self._batch is not None, self._coordinator.active
        works = {name: Work(self._gradients[name], rows, True, ahead) for name in self._coordinator.parties}
        if self._batch is None:
            return {**works}
        logits = Logits(self._batch.logits.detach(), self._batch.rows, train=True)
        return {**works, active: WorkAndLogits(works[active], logits)}

    def _judged(self, replies: Mapping[str, Message]) -> tuple[Tensor | None, Mapping[str, Message]]:
        """The gradient at the last batch's logits, and everybody's embeddings."""
        if self._batch is None:
            return None, replies
        active = self._coordinator.active
        both = replies[active]
        if not isinstance(both, EmbeddingAndGradient) or both.gradient.values is None:
            raise PriveeError(f"party {active} sent no gradient")
        return both.gradient.values, {**replies, active: both.embedding}

    def _learn(self, gradient: Tensor | None) -> dict[str, Tensor | None]:
        parties = self._coordinator.parties
        if self._batch is None or gradient is None:
            return dict.fromkeys(parties)
        self._coordinator.learner.step(self._batch.logits, gradient)
        return {name: e.grad for name, e in zip(parties, self._batch.embeddings, strict=True)}

    def _forward(self, rows: Tensor, embeddings: list[Tensor]) -> Batch:
        leaves = entered(self._coordinator.learner.model, embeddings)
        return Batch(rows, leaves, self._coordinator.learner.model(leaves))
