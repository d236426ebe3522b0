"""Which columns of a table are scores.

A column is never passed through unprotected by accident: every column is a score unless it is named as one to keep,
or is called id (or ends in _id).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from privee.errors import PriveeError


class Columns(NamedTuple):
    """Names of the score columns and of those kept, each in file order."""

    scores: list[str]
    kept: list[str]


def choose_columns(names: Sequence[str], keep: Sequence[str] = (), scores: Sequence[str] = ()) -> Columns:
    """Sort column names into scores and kept ones; patterns such as `p_*` are understood.

    Example:
        >>> choose_columns(["customer_id", "a", "b"])
        Columns(scores=['a', 'b'], kept=['customer_id'])
    """
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise PriveeError(f"the column name {twice!r} appears twice")
    for pattern in (*keep, *scores):
        if not _any_matches(names, pattern):
            raise PriveeError(f"no column is called {pattern!r}; the columns are {_listed(names)}")
    kept = [name for name in names if _kept(name, keep, scores)]
    known = set(kept)
    chosen = [name for name in names if (_matches(name, scores) if scores else name not in known)]
    known.update(chosen)
    left = [name for name in names if name not in known]
    if left:
        raise PriveeError(
            f"{_listed(left)} would be lost: name it to keep it (keep=, --id), or among the scores (scores=, --scores)"
        )
    taken = set(chosen)
    both = [name for name in kept if name in taken]
    if both:
        raise PriveeError(f"{_listed(both)} is named both as a score and as a column to keep")
    return Columns(chosen, kept)


def _kept(name: str, keep: Sequence[str], scores: Sequence[str]) -> bool:
    looks_like_id = name.lower() == "id" or name.lower().endswith("_id")
    return _matches(name, keep) or (looks_like_id and not _matches(name, scores))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _any_matches(names: Sequence[str], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def name_of_other(name: str, taken: Sequence[str]) -> str:
    """What the other of two classes is called, where a table has a column for one of them."""
    other = f"not_{name}"
    while other in taken:
        other += "_"
    return other
