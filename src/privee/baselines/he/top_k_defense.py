"""Encrypted top-k as a defense: the leading classes, found without anyone seeing the scores."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_positive, check_whole
from privee.defenses.ranking_only import expected_scores_by_rank
from privee.defenses.registry import register
from privee.errors import PriveeError
from privee.progress import watcher
from privee.randomness import Draws
from privee.scores import ranking
from privee.scores.forms import Floats

if TYPE_CHECKING:
    from privee.baselines.he.encrypted_session import Session
    from privee.baselines.he.parameters import Plan

Groups = tuple[tuple[int, ...], ...]


@register
@dataclasses.dataclass(frozen=True)
class EncryptedTopK(Defense):
    """Runs the protocol on the logarithms of the scores and releases what the key holder learns, nothing else.

    Logarithms differ as the parties' summed logits do, so small scores are told apart as well as large ones.

    Attributes:
        k: how many leading classes the key holder learns, in order.
        bound: scores further below a record's highest than this (in logarithm) count as equal to that.
        gap: smallest difference that is told for certain, as a share of the bound; 0 for the default.
        time_limit: seconds for one release; longer ones are refused.
    """

    name: ClassVar[str] = "he-top-k"
    place: ClassVar[int] = 92
    summary: ClassVar[str] = "the leading classes in order, found under homomorphic encryption"
    slow: ClassVar[bool] = True

    k: int = 5
    bound: float = 16.0
    gap: float = 0.0
    time_limit: float = 1200.0

    def __post_init__(self) -> None:
        check_whole(1, 10**9, k=self.k)
        check_positive(bound=self.bound, time_limit=self.time_limit)
        if self.gap:
            check_positive(gap=self.gap)

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        """The draws take no part: keys and noise are always secure, and what is released is decided without them."""
        if not len(rows):
            return rows.copy()
        n_classes = rows.shape[1]
        found = self._session(len(rows), n_classes).run(self.logits(rows)[None], watcher())
        values = [released_values((*one.groups, one.undecided_classes), n_classes) for one in found]
        return np.array(values).astype(rows.dtype)

    def _release_in_blocks(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        """A release is one block here, so that the time limit is for all of it."""
        return self._release(rows, sums, draws)

    def _session(self, rows: int, n_classes: int) -> Session:
        """Refuses what takes too long before any key is made."""
        from privee.baselines.he.planning import plan, refuse_if_slow

        limit = self.time_limit
        made = plan(n_classes, self.k, bound=self.bound, gap=self.gap or None, time_limit=limit)
        seconds = -(-rows // made.records) * made.seconds
        refuse_if_slow(seconds, limit, limit, f"encrypted top-{made.k} of {rows:,} rows")
        return _session(made)

    def logits(self, rows: Floats) -> NDArray[np.float64]:
        """What is encrypted: logarithms of the scores below the row's highest, none below -bound."""
        top = rows.max(axis=1, keepdims=True).astype(np.float64)
        share = np.divide(rows, top, out=np.ones(rows.shape), where=top > 0)  # a row of zeros is one tie
        return np.asarray(np.log(np.maximum(share, np.exp(-self.bound))), dtype=np.float64)

    def release_in_the_clear(self, scores: Floats) -> Floats:
        """What `release` gives for (n, K) scores if every comparison is decided; for tests and attack simulations."""
        order = ranking(scores)[:, : min(self.k, scores.shape[1] - 1)]
        groups = [tuple((c,) for c in row) for row in order.tolist()]
        return np.array([released_values(one, scores.shape[1]) for one in groups]).astype(scores.dtype)

    def parameters(self, n_classes: int) -> str:
        """Security parameters and costs for this many classes."""
        from privee.baselines.he.planning import plan

        try:
            return str(plan(n_classes, self.k, bound=self.bound, gap=self.gap or None, time_limit=self.time_limit))
        except PriveeError as error:  # it would take too long, or TenSEAL is missing
            return str(error)

    def public_copy(self) -> EncryptedTopK:
        """The same release without the encryption, with every comparison decided."""
        return _InTheClear(**{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        """The release is already the mean of a random probability vector given what is known."""
        return rows

    @property
    def monotone(self) -> bool:
        """The leading classes stand in their order, above all others."""
        return True

    def guarantee(self, n_classes: int) -> Guarantee:
        """The release is a function of the order of the leading classes."""
        kept = min(self.k, n_classes - 1)
        return Guarantee(
            proven=f"the release depends on the order of the {kept} leading classes alone; the evaluator sees "
            "ciphertexts only (CKKS, 128-bit)",
            same=f"score vectors with the same {kept} leading classes in the same order, none of them nearly tied",
            epsilon=0.0,
            delta=0.0,
            assumptions=(
                "ring learning with errors is hard at 128 bits (homomorphic encryption standard's parameters)",
                "evaluator and senders follow the protocol, and the evaluator does not work with the key holder",
                "the key holder hands on the release, not the decrypted numbers",
            ),
            not_covered=(
                f"the {kept} leading classes and their order",
                asked_again(n_classes, kept),
                "near ties: that they are, and to the key holder roughly how near",
                "to the key holder: rounding noise, under a flood 1/64 wide (not a proof)",
            ),
            figures={"security_bits": 128.0, "leading_classes": float(kept)},
        )


class _InTheClear(EncryptedTopK):
    """What the protocol releases, worked out on plain scores."""

    slow: ClassVar[bool] = False

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        return self.release_in_the_clear(rows)


def released_values(groups: Groups, n_classes: int) -> NDArray[np.float64]:
    """Expected scores by rank for ordered groups of classes; a group shares its mean, classes in none come last."""
    expected, out = expected_scores_by_rank(n_classes), np.empty(n_classes)
    named = {c for group in groups for c in group}
    rest = tuple(c for c in range(n_classes) if c not in named)
    first = 0
    for group in (*groups, rest):
        if group:
            out[list(group)] = expected[first : first + len(group)].mean()
            first += len(group)
    return out


@functools.lru_cache(maxsize=1)
def _session(plan: Plan) -> Session:
    """Keys are for one process and plan; making them takes longer than a release."""
    from privee.baselines.he.encrypted_session import Session

    return Session(plan)
