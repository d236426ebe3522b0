"""The whole protocol in one process: the three roles, and only bytes between them.

What the key holder makes of a decrypted result, and when it refuses to decide.

Results fall with rank: k for the first class, 1 for the k-th, 0 for all others. Two results further apart than
`SPLIT` are in the right order (docs/he_top_k.md has the argument), so the classes fall into groups whose order is
certain; inside a group nothing is claimed.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.baselines.he.parameters import SPLIT, Plan
from privee.baselines.he.planning import TIME_LIMIT, plan
from privee.baselines.he.roles import Evaluator, KeyHolder, Sender
from privee.errors import PriveeError, ScoreError
from privee.progress import Progress


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopKResult:
    """What is certain about the leading classes of one record.

    Attributes:
        groups: classes that are certainly among the leading k, best group first; classes of a group tie, or nearly.
        undecided_classes: among them are the ones that complete the k; empty if decided.
        k: how many were asked for.
        seconds: of the evaluation that this record was part of.
        plan: the parameters.
    """

    groups: tuple[tuple[int, ...], ...]
    undecided_classes: tuple[int, ...]
    k: int
    seconds: float
    plan: Plan

    @property
    def decided(self) -> bool:
        """Are the k leading classes known for certain, as a set?"""
        return not self.undecided_classes

    @property
    def ordered(self) -> bool:
        """Is their order known too?"""
        return self.decided and all(len(group) == 1 for group in self.groups)

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes that are certain, best first."""
        return tuple(c for group in self.groups for c in group)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Rank of each of `classes`, from 1; those of a group share its first rank."""
        firsts = np.cumsum([1, *(len(group) for group in self.groups)])
        return tuple(int(first) for first, group in zip(firsts, self.groups, strict=False) for _ in group)


def read_result(values: NDArray[np.float64], plan: Plan, seconds: float) -> TopKResult:
    """Groups of certain order from one record's decrypted values."""
    if not (np.isfinite(values).all() and values.min() > -1 and values.max() < plan.k + 1):
        raise PriveeError("the result is not one of this plan: wrong key, wrong plan, or scores beyond the bound")
    groups, certain = ordered_groups(values), []
    count = 0
    for group in groups:
        if count + len(group) > plan.k:
            break
        certain.append(group)
        count += len(group)
    undecided = () if count == plan.k else groups[len(certain)]
    return TopKResult(groups=tuple(certain), undecided_classes=undecided, k=plan.k, seconds=seconds, plan=plan)


def ordered_groups(values: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """Classes by falling value, cut wherever neighbours are more than `SPLIT` apart."""
    order = np.argsort(-values, kind="stable")
    cuts = np.flatnonzero(-np.diff(values[order]) > SPLIT) + 1
    return [tuple(sorted(group.tolist())) for group in np.split(order, cuts)]
