"""The coordinator: joins embeddings into logits, and later into scores. It never sees columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.progress import Progress
from privee.vfl.learner import Learner
from privee.vfl.messages import Channel, Embedding, LogitGradient, Logits, Message, Report, ReportRequest, Work
from privee.vfl.seal.books import check_all_sent, entered

Reply = TypeVar("Reply", bound=Message)


class Coordinator:
    """Runs the joint model over a channel. `parties` are in the order in which `top` takes their embeddings."""

    def __init__(self, top: nn.Module, channel: Channel, parties: Sequence[str], active: str) -> None:
        if active not in parties:
            raise PriveeError(f"the active party {active!r} is not among the parties {', '.join(parties)}")
        self.learner = Learner(top)
        self.channel, self.parties, self.active = channel, tuple(parties), active

    def train_epoch(self, batches: Iterable[Tensor]) -> Iterator[Report | None]:
        """Train over batches of row numbers; yields None after each and the active party's report at the end."""
        self.learner.mode(train=True)
        gradients: dict[str, Tensor | None] = dict.fromkeys(self.parties)
        for rows in batches:
            gradients = self._train_batch(rows, gradients)
            yield None
        self._ask_all(gradients, None, train=True)
        yield self.report()

    def _train_batch(self, rows: Tensor, gradients: dict[str, Tensor | None]) -> dict[str, Tensor | None]:
        """One exchange delivers the last gradients and fetches the next embeddings; a second asks for the loss."""
        embeddings = entered(self.learner.model, self._ask_all(gradients, rows, train=True))
        logits = self.learner.model(embeddings)
        answer = self._ask(self.active, Logits(logits.detach(), rows, train=True), LogitGradient)
        if answer.values is None:
            raise PriveeError(f"party {self.active} sent no gradient")
        self.learner.step(logits, answer.values)
        return {name: embedding.grad for name, embedding in zip(self.parties, embeddings, strict=True)}

    def logits(self, rows: Tensor) -> Tensor:
        """The joint model's logits for these rows."""
        self.learner.mode(train=False)
        with torch.inference_mode():
            parts = self._ask_all(dict.fromkeys(self.parties), rows, train=False)
            check_all_sent(self.learner.model, parts)
            logits: Tensor = self.learner.model(parts)
        return logits

    def scores(self, rows: Tensor, *, batch: int = 4096, progress: Progress = lambda done, size: None) -> Tensor:
        """Class confidences: what a defense turns into a release before anyone sees them."""
        parts: list[Tensor] = []
        for part in rows.split(batch):
            parts.append(torch.softmax(self.logits(part), dim=1))
            progress(min(len(parts) * batch, len(rows)), len(rows))
        return torch.cat(parts)

    def evaluate(self, rows: Tensor, *, batch: int = 4096) -> Report:
        """Loss and accuracy on these rows; the active party compares."""
        for part in rows.split(batch):
            self._ask(self.active, Logits(self.logits(part), part, train=False), LogitGradient)
        return self.report()

    def report(self) -> Report:
        """What the active party counted since the last report."""
        return self._ask(self.active, ReportRequest(), Report)

    def _ask_all(self, gradients: dict[str, Tensor | None], rows: Tensor | None, train: bool) -> list[Tensor]:
        replies = self.channel.ask({name: Work(gradients[name], rows, train) for name in self.parties})
        embeddings = [self.embedding_of(name, replies[name]) for name in self.parties]
        return [] if rows is None else [e for e in embeddings if e is not None]

    def embedding_of(self, name: str, reply: Message) -> Tensor | None:
        """A party's reply, if it is the right one."""
        if not isinstance(reply, Embedding):
            raise PriveeError(f"party {name} answered with {type(reply).__name__}, not with an embedding")
        return reply.values

    def _ask(self, name: str, message: Message, expected: type[Reply]) -> Reply:
        reply = self.channel.ask({name: message})[name]
        if not isinstance(reply, expected):
            raise PriveeError(f"party {name} answered with {type(reply).__name__}, not with {expected.__name__}")
        return reply
