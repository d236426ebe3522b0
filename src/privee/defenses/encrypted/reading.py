"""What the key holder makes of a decrypted result, and when it refuses to decide.

Results fall with rank: k for the first class, 1 for the k-th, 0 for all others. Two results further apart than
`SPLIT` are in the right order (docs/he_top_k.md has the argument), so the classes fall into groups whose order is
certain; inside a group nothing is claimed.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from privee.defenses.encrypted.parameters import SPLIT, Plan
from privee.errors import PriveeError


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
