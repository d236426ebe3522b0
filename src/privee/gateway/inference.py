"""One request from entities to their releases: price, scores, releases, count. Nothing leaves uncounted."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses import Defense, Repeatable
from privee.gateway.kept_scores import KeptScores
from privee.gateway.ledger.group_commit import GroupCommit
from privee.gateway.ledger.ledger import (
    ChargeQuote,
    ChargeRequest,
    Ledger,
    OverVariantsError,
    Price,
    Receipt,
    RefusedError,
)
from privee.gateway.score_source import ScoreSource, ServedModel
from privee.scores.forms import Floats
from privee.traces import traced, within

Write = Callable[[Floats], bytes]
MOST_SPENT = 10_000
INLINE = 1 << 12
"""Scores that are released on the event loop itself; more of them go to a thread, so that others are served."""


@dataclasses.dataclass(frozen=True, eq=False)
class Query:
    """What is asked: entities, and columns that come along: the active party's own in place of its stored ones.

    For a scorer without a table they are all columns of the entities.
    """

    entities: Sequence[str]
    columns: NDArray[np.float32] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """What leaves: a release for each entity, and the fewest that remain to any of them; None is no limit.

    `written` is the release as `write` made it, if anything was to.
    """

    release: Floats
    release_id: str
    remaining: int | None
    charged: int
    written: bytes = b""


@dataclasses.dataclass(frozen=True, eq=False)
class Inference:
    """A model, who answers for it, its defense and its ledger; `counter` is None where answers are not counted."""

    model: ServedModel
    source: ScoreSource
    defense: Defense
    price: Price
    counter: GroupCommit | None
    repeatable: Repeatable | None = None
    _kept: KeptScores = dataclasses.field(init=False, repr=False)
    _spent: set[str] = dataclasses.field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kept", KeptScores(self.source))

    async def infer(self, query: Query, key_id: str, *, write: Write | None = None) -> Answer:
        """Release, once the ledger has it on disk.

        Args:
            query: what is asked.
            key_id: who asks.
            write: turns the release into bytes, while the ledger is at work; so is the release itself made.

        Raises:
            RefusedError: some entity has given away all it may, or this is a variant too many; nothing was counted.
            PartyError: a party or a scorer failed; nothing was counted.
            PriveeError: there were no scores that the defense could handle; that was counted.
        """
        release_id, hashes = secrets.token_hex(16), None
        if self.counter and self._worth_asking(query.entities, key_id):
            early = ChargeRequest(query.entities, self.price, key_id, release_id)
            hashes = await self._refuse_early(self.counter, early)
        embeddings, scores, failure = await self._kept.worked_out(query.entities, query.columns)
        pinned = None if self.counter is None else questions(self.model, embeddings)
        ask = ChargeRequest(query.entities, self.price, key_id, release_id, questions=pinned, hashes=hashes)
        # Whether a defense can handle the scores tells something about them, so a failure is an answer too: what is
        # charged need not wait for the release, unless it is by the release that the same one again is known.
        charging = None if self.repeatable else self._charge(ask)
        try:
            if failure is not None:
                raise failure
            await asyncio.sleep(0)  # the ledger's thread begins
            release = await self._release(scores, query)
            if charging is None:
                ask = self._with_fingerprints(ask, release, query, embeddings)
                charging = self._charge(ask)
                await asyncio.sleep(0)
            written = write(release) if write else b""
        finally:
            receipt = await self._charged(charging or self._charge(ask), ask)  # whatever happens, nothing leaves before
        return Answer(release, release_id, receipt.remaining, receipt.charged, written)

    def _charge(self, ask: ChargeRequest) -> asyncio.Future[Receipt]:
        """Begin to charge; it goes on while the release is made."""
        if self.counter is not None:
            return asyncio.ensure_future(within("privee.ledger", self.counter.charge(ask)))
        free: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        free.set_result(Receipt(ask.release_id, 0, None))
        return free

    async def _charged(self, charging: asyncio.Future[Receipt], ask: ChargeRequest) -> Receipt:
        try:
            return await charging
        except RefusedError as refusal:
            self._remember(refusal, ask.entities, ask.key_id)
            raise

    async def quote(self, entities: Sequence[str], key_id: str) -> ChargeQuote:
        """What a query about these entities would cost, and whether this key would be answered."""
        if self.counter is None:
            raise RuntimeError("answers are not counted")
        return await self.counter.read(self.counter.ledger.price, entities, self.price, key_id)

    def _worth_asking(self, entities: Sequence[str], key_id: str) -> bool:
        """Whether to price before anybody is asked: a batch, or an entity or a key that was refused lately.

        One entity that was not is most likely answered, and waits for the ledger once. With repeatable draws what is
        spent may still be answered, for nothing.
        """
        return not self.repeatable and (len(entities) > 1 or not self._spent.isdisjoint((entities[0], key_id)))

    def _remember(self, refusal: RefusedError, entities: Sequence[str], key_id: str) -> None:
        if isinstance(refusal, OverVariantsError):
            return  # what was asked before is still answered
        if len(self._spent) >= MOST_SPENT:
            self._spent.clear()
        self._spent.update([entities[place] for place in refusal.positions] or [key_id])

    @traced("privee.ledger.early")
    async def _refuse_early(self, counter: GroupCommit, ask: ChargeRequest) -> Sequence[bytes]:
        """Spare the parties what will be refused. Whether it fits is decided by the charge, once all is ready.

        Gives the entities' hashes, which the charge needs too.
        """
        allowed, hashes = await counter.read(counter.ledger.admits, ask)
        if allowed:
            self._spent.difference_update([*ask.entities, ask.key_id] if self._spent else ())
            return hashes
        refusal = await counter.read(counter.ledger.refuse, ask)
        if refusal is not None:
            raise refusal
        return hashes

    @traced("privee.release")
    async def _release(self, scores: Floats, query: Query) -> Floats:
        if scores.size <= INLINE and not self.defense.slow:
            return self._release_now(scores, query)
        return await asyncio.to_thread(self._release_now, scores, query)

    def _release_now(self, scores: Floats, query: Query) -> Floats:
        if self.repeatable is None:
            return self.defense.release(scores)
        return self.repeatable.release(scores, entities=query.entities, queries=query.columns)

    def _with_fingerprints(
        self, ask: ChargeRequest, release: Floats, query: Query, embeddings: Mapping[str, NDArray[Any]]
    ) -> ChargeRequest:
        if self.counter is None:
            return ask
        return dataclasses.replace(
            ask, fingerprints=self._fingerprints(self.counter.ledger, release, query, embeddings)
        )

    def _fingerprints(
        self, ledger: Ledger, release: Floats, query: Query, embeddings: Mapping[str, NDArray[Any]]
    ) -> list[bytes]:
        """The same only for the same answer to the same question, down to what every party's part of the model said.

        Neither release nor scores would be enough: an active party that changes what it sends would be told for
        nothing, and without end, whether the outcome is one that was charged before.
        """
        about = json.dumps([self.model.version, self.defense.settings()], sort_keys=True).encode()
        asked = [b""] * len(release) if query.columns is None else [row.tobytes() for row in query.columns]
        parts = [[row.tobytes() for row in embeddings[party]] for party in self.model.parties]
        given = [row.tobytes() for row in release]
        return [ledger.fingerprint(about, *row) for row in zip(asked, *parts, given, strict=True)]


def questions(model: ServedModel, embeddings: Mapping[str, NDArray[Any]]) -> list[bytes]:
    """What the active party put in for each entity, as it entered this version of the model; -0 counts as 0.

    The embedding and not its columns: those that it has stored count like those that came with the request. Of a
    scorer it is a digest of the entity's row.
    """
    rows = embeddings[model.parties[0]]
    raw, version = (rows + rows.dtype.type(0)).tobytes(), model.version.encode()
    width = len(raw) // len(rows)
    return [version + raw[start : start + width] for start in range(0, len(raw), width)]
