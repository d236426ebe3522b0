"""Requests to one party, collected while it is busy.

Nobody waits when the party is idle: the request leaves with those of the same turn of the event loop. While as many
calls as allowed are in flight, requests queue, and leave together in the next call. Each request still ends by itself:
at its own deadline, by its own cancellation, with its own unknown entities.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.gateway.channel.deadlines import Deadlines
from privee.party.errors import PartyError

Floats = NDArray[np.float32]
Places = NDArray[np.int64] | None
"""Of an item's entities in a call; None: it has the call for itself, and finds all where they were."""


class BatchAnswer(NamedTuple):
    """One embedding per entity, and the places of entities the party does not know."""

    embeddings: Floats
    unknown: tuple[int, ...]


Send = Callable[[tuple[str, ...], Floats | None, float], Awaitable[BatchAnswer]]


@dataclasses.dataclass(eq=False, slots=True)
class Item:
    """A request, or a part of a large one, that travels in one call; not changed any more."""

    entities: Sequence[str]
    columns: Floats | None
    expires: float
    answer: asyncio.Future[BatchAnswer]


class Batcher:
    """Collects requests for one party.

    Args:
        send: makes one call: entities, columns, and the time to give up at.
        late: the error of a request that was not answered in time.
        in_flight: most calls at once.
    """

    def __init__(self, send: Send, late: Callable[[], PartyError], *, in_flight: int = 2) -> None:
        self._send, self._in_flight = send, in_flight
        # Rows with columns of their own and rows without do not share a call.
        self._waiting: tuple[deque[Item], deque[Item]] = (deque(), deque())
        self._calls: dict[asyncio.Task[None], list[Item]] = {}
        self._leaving = False
        self._deadlines = Deadlines(self._under_way, late)

    def ask(
        self, entities: Sequence[str], columns: Floats | None, expires: float, largest: int
    ) -> asyncio.Future[BatchAnswer]:
        """Embeddings for these entities, `largest` of them at most; fails at `expires`."""
        loop = asyncio.get_running_loop()
        item = Item(entities, columns, expires, loop.create_future())
        self._waiting[columns is not None].append(item)
        self._deadlines.watch(expires, loop)
        if not self._leaving:  # at the end of this turn: whoever else asks in it shares the call
            self._leaving = True
            loop.call_soon(self._leave, largest)
        return item.answer

    async def ask_in_parts(
        self, entities: Sequence[str], columns: Floats | None, expires: float, largest: int
    ) -> BatchAnswer:
        """The same for any number of entities."""
        starts = range(0, len(entities), largest)
        parts = [
            self.ask(
                entities[start : start + largest],
                None if columns is None else columns[start : start + largest],
                expires,
                largest,
            )
            for start in starts
        ]
        return _joined(await asyncio.gather(*parts), starts)

    async def close(self, error: PartyError) -> None:
        """Give up what is under way or waiting, with this error."""
        self._deadlines.close()
        calls = dict(self._calls)
        for items in (*calls.values(), *self._waiting):
            _fail(items, error)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    def _under_way(self) -> Iterator[Item]:
        return (item for items in (*self._waiting, *self._calls.values()) for item in items if not item.answer.done())

    def _leave(self, largest: int) -> None:
        """Start as many calls as are allowed."""
        self._leaving = False
        while len(self._calls) < self._in_flight and (items := self._next(largest)):
            call = asyncio.get_running_loop().create_task(self._call(items, largest))
            self._calls[call] = items

    def _next(self, largest: int) -> list[Item]:
        """The oldest requests of one sort that fit into a call; those given up meanwhile are dropped."""
        for queue in self._waiting:
            while queue and queue[0].answer.done():
                queue.popleft()
        queues = [queue for queue in self._waiting if queue]
        if not queues:
            return []
        queue = min(queues, key=lambda queue: queue[0].expires)
        taken, room = [queue.popleft()], largest
        room -= len(taken[0].entities)
        while queue and len(queue[0].entities) <= room:
            item = queue.popleft()
            if not item.answer.done():
                taken.append(item)
                room -= len(item.entities)
        return taken

    async def _call(self, items: list[Item], largest: int) -> None:
        entities, columns, places = _merged(items)
        try:
            answer = await self._send(entities, columns, max(item.expires for item in items))
        except Exception as error:
            if isinstance(error, PartyError) and error.kind == "budget" and len(items) > 1:
                await self._one_by_one(items)
                self._ended(largest)
                return
            self._ended(largest)
            _fail(items, error)
            return
        self._ended(largest)
        for item, rows in zip(items, places, strict=True):
            if not item.answer.done():
                item.answer.set_result(_share(answer, rows))

    async def _one_by_one(self, items: list[Item]) -> None:
        """The party refused them together: those who asked about others' spent entities did not."""
        for item in items:
            if item.answer.done():
                continue
            entities, columns, (rows,) = _merged([item])
            try:
                answer = await self._send(entities, columns, item.expires)
            except Exception as error:
                _fail([item], error)
                continue
            if not item.answer.done():
                item.answer.set_result(_share(answer, rows))

    def _ended(self, largest: int) -> None:
        """Make room for the next call, before this one's answers are handed out."""
        call = asyncio.current_task()
        if call is not None:
            self._calls.pop(call, None)
        self._leave(largest)


def _merged(items: list[Item]) -> tuple[tuple[str, ...], Floats | None, list[Places]]:
    """All entities of a call, their columns, and where each item finds its own. Repeated entities are sent once."""
    first = items[0]
    if len(items) == 1 and (first.columns is not None or len(set(first.entities)) == len(first.entities)):
        return tuple(first.entities), first.columns, [None]
    places: list[Places]
    if first.columns is not None:
        entities = tuple(entity for item in items for entity in item.entities)
        ends = np.cumsum([len(item.entities) for item in items])
        places = [np.arange(end - len(item.entities), end) for item, end in zip(items, ends, strict=True)]
        return entities, np.concatenate([item.columns for item in items if item.columns is not None]), places
    once: dict[str, int] = {}
    places = [np.array([once.setdefault(entity, len(once)) for entity in item.entities]) for item in items]
    return tuple(once), None, places


def _share(answer: BatchAnswer, rows: Places) -> BatchAnswer:
    """One item's rows of a call's answer."""
    if rows is None:
        return answer._replace(embeddings=answer.embeddings.copy())  # a message's own bytes cannot be written to
    unknown: tuple[int, ...] = ()
    if answer.unknown:
        unknown = tuple(np.flatnonzero(np.isin(rows, answer.unknown)).tolist())
    return BatchAnswer(answer.embeddings[rows], unknown)


def _joined(answers: Sequence[BatchAnswer], starts: Iterable[int]) -> BatchAnswer:
    """The parts of a large request together again."""
    if len(answers) == 1:
        return answers[0]
    unknown = tuple(start + place for start, answer in zip(starts, answers, strict=True) for place in answer.unknown)
    return BatchAnswer(np.concatenate([answer.embeddings for answer in answers]), unknown)


def _fail(items: Iterable[Item], error: Exception) -> None:
    """An error of its own for each request: one object raised in several places would collect all their traces."""
    for item in items:
        if not item.answer.done():
            item.answer.set_exception(error.again() if isinstance(error, PartyError) else error)
