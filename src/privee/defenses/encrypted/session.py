"""The whole protocol in one process: the three roles, and only bytes between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses.encrypted.parameters import Plan
from privee.defenses.encrypted.planning import TIME_LIMIT, plan
from privee.defenses.encrypted.reading import TopKResult, read_result
from privee.defenses.encrypted.roles import Evaluator, KeyHolder, Sender
from privee.errors import ScoreError

Progress = Callable[[int, int], None]


class Session:
    """Keys for a plan, made once and used for any number of records."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._holder = KeyHolder(plan)
        self._senders = [Sender(plan, self._holder.encryption_key) for _ in range(plan.parties)]
        self._evaluator = Evaluator(plan, self._holder.evaluation_keys)

    def run(self, parts: NDArray[np.floating[Any]], progress: Progress | None = None) -> list[TopKResult]:
        """One result per record for (parties, records, classes) parts of the scores, any number of records."""
        found: list[TopKResult] = []
        batches = range(0, parts.shape[1], self.plan.records)
        for number, first in enumerate(batches):
            batch = parts[:, first : first + self.plan.records]
            found += self._batch(batch, _shifted(progress, number, len(batches)))
        return found

    def _batch(self, parts: NDArray[np.floating[Any]], progress: Progress | None) -> list[TopKResult]:
        start = time.perf_counter()
        messages = zip(*(s.encrypt(part) for s, part in zip(self._senders, parts, strict=True)), strict=True)
        result = self._evaluator.top_k(messages, progress)
        values = self._holder.decrypt(result, parts.shape[1])
        seconds = time.perf_counter() - start
        return [read_result(row, self.plan, seconds) for row in values]


def _shifted(progress: Progress | None, batch: int, batches: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, size: progress(batch * size + done, batches * size)


def encrypted_top_k(
    scores: Any,
    k: int = 5,
    *,
    bound: float = 1.0,
    gap: float | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress | None = None,
) -> TopKResult:
    """The k leading classes of one record, found under encryption.

    Args:
        scores: one vector (K,), or parts (parties, K) whose sum is the scores; each row is encrypted by a sender of
            its own and summed by the evaluator.
        k: how many classes are wanted.
        bound: no two scores differ by more; each of several parts may spread over bound / parties.
        gap: smallest difference to be told for certain, as a share of the bound; by default the finest up to 1/1024.
        time_limit: seconds; what would take longer is refused.
        progress: called with (steps done, steps in all).
    """
    parts = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    if parts.ndim != 2 or not np.isfinite(parts).all():
        raise ScoreError("expected one finite vector (K,) or parts (parties, K)")
    found = plan(parts.shape[1], k, bound=bound, parties=len(parts), gap=gap, time_limit=time_limit)
    (result,) = Session(found).run(parts[:, None], progress)
    return result
