"""One request from entities to a release: price, embeddings, scores, release, count. Nothing leaves uncounted."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privee.defenses import Defense, Repeatable
from privee.gateway.counting import Counter
from privee.gateway.joint_model import JointModel
from privee.gateway.ledger.ledger import Ask, Ledger, Price, Quote
from privee.gateway.parties.channel import PartyChannel

INLINE = 1 << 12
"""Scores that are released on the event loop itself; more of them go to a thread, so that others are served."""


@dataclasses.dataclass(frozen=True, eq=False)
class Query:
    """What is asked: entities, and the active party's own columns in place of its stored ones."""

    entities: Sequence[str]
    columns: NDArray[np.float32] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """What leaves: the release, with the least number of releases that remain to any of its entities."""

    release: NDArray[np.float64]
    release_id: str
    remaining: int | None
    charged: int


@dataclasses.dataclass(frozen=True, eq=False)
class Inference:
    """A model, its parties, its defense and its ledger; `counter` is None where answers are not counted."""

    model: JointModel
    channel: PartyChannel
    defense: Defense
    price: Price
    counter: Counter | None
    repeatable: Repeatable | None = None

    async def infer(self, query: Query, key_id: str) -> Answer:
        """Release, once the ledger has it on disk.

        Raises:
            Refused: some entity has given away all it may; nothing was counted.
            PartyError: a party failed; nothing was counted.
        """
        release_id = secrets.token_hex(16)
        if self.counter and not self.repeatable:
            await self._refuse_early(self.counter, Ask(query.entities, self.price, key_id, release_id))
        embeddings = await self.channel.embeddings(query.entities, query.columns)
        scores = self.model.scores(embeddings)
        release = await self._release(scores, query)
        if self.counter is None:
            return Answer(release, release_id, None, 0)
        seen = None if self.repeatable is None else self._fingerprints(self.counter.ledger, release, query)
        receipt = await self.counter.charge(Ask(query.entities, self.price, key_id, release_id, seen))
        return Answer(release, release_id, receipt.remaining, receipt.charged)

    async def quote(self, entities: Sequence[str]) -> Quote:
        """What a query about these entities would cost, and whether it would be answered."""
        if self.counter is None:
            raise RuntimeError("answers are not counted")
        return await self.counter.read(self.counter.ledger.price, entities, self.price)

    async def _refuse_early(self, counter: Counter, ask: Ask) -> None:
        """Spare the parties what will be refused. Whether it fits is decided by the charge, once all is ready."""
        if not (await self.quote(ask.entities)).allowed:
            refusal = await counter.read(counter.ledger.refuse, ask)
            if refusal is not None:
                raise refusal

    async def _release(self, scores: NDArray[np.float64], query: Query) -> NDArray[np.float64]:
        if scores.size <= INLINE and not self.defense.slow:
            return self._release_now(scores, query)
        return await asyncio.to_thread(self._release_now, scores, query)

    def _release_now(self, scores: NDArray[np.float64], query: Query) -> NDArray[np.float64]:
        if self.repeatable is None:
            return self.defense.release(scores)
        return self.repeatable.release(scores, entities=query.entities, queries=query.columns)

    def _fingerprints(self, ledger: Ledger, release: NDArray[np.float64], query: Query) -> list[bytes]:
        """The same only for the same answer to the same question: a question asked otherwise teaches something new."""
        about = json.dumps([self.model.version, self.defense.settings()], sort_keys=True).encode()
        asked = [b""] * len(release) if query.columns is None else [row.tobytes() for row in query.columns]
        return [ledger.fingerprint(about, columns, row.tobytes()) for columns, row in zip(asked, release, strict=True)]
