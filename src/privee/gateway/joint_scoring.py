"""Scores of requests that are ready at the same moment, worked out together.

Requests that shared a call to a party go on in the same turn of the event loop; one pass of the model over all their
rows costs little more than one over a single row. A row's scores are the same to the last bit in any company.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.gateway.coordinator_model import CoordinatorModel
from privee.gateway.score_source import Scores

Embeddings = Mapping[str, NDArray[np.float32]]
FEW = 64
"""Rows of a request that waits for others; a larger one gains nothing."""


class JointScoring:
    """Used in one event loop."""

    def __init__(self, model: CoordinatorModel) -> None:
        self._model = model
        self._waiting: list[tuple[Embeddings, asyncio.Future[Scores]]] = []

    async def scores(self, embeddings: Embeddings) -> Scores:
        """As the model's own, at the end of this turn of the event loop."""
        if len(embeddings[self._model.parties[0]]) > FEW:
            return self._model.scores(embeddings)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Scores] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._work)
        self._waiting.append((embeddings, future))
        return await future

    def _work(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            parts = self._together([embeddings for embeddings, _ in waiting])
        except (PriveeError, ValueError):  # somebody's do not fit; the others' do
            parts = None
        for place, (embeddings, future) in enumerate(waiting):
            if not future.done():
                _settle(future, self._model, embeddings, None if parts is None else parts[place])

    def _together(self, asked: list[Embeddings]) -> list[Scores]:
        if len(asked) == 1:
            return [self._model.scores(asked[0])]
        parties = self._model.parties
        every = self._model.scores({party: np.concatenate([one[party] for one in asked]) for party in parties})
        return np.split(every, np.cumsum([len(one[parties[0]]) for one in asked])[:-1])


def _settle(
    future: asyncio.Future[Scores], model: CoordinatorModel, embeddings: Embeddings, found: Scores | None
) -> None:
    try:
        future.set_result(model.scores(embeddings) if found is None else found)
    except Exception as error:
        future.set_exception(error)
