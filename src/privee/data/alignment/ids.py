"""What a party's ids must be before anything is sent: text, none missing, none twice.

Ids are compared as text, exactly: the bytes of their UTF-8 form, nothing trimmed, no case folded, no zeros dropped.
Messages name rows (data rows, counted from 1), never an id.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError

Rows = NDArray[np.int64]


def checked_ids(ids: Sequence[str], party: str) -> list[str]:
    """The ids as a list, or an error that says which rows to put right."""
    listed: list[Any] = list(ids)
    if not listed:
        raise PriveeError(f"party {party} has no ids")
    missing = [row for row, value in enumerate(listed) if _missing(value)]
    if missing:
        raise PriveeError(f"party {party} has {_count(len(missing), 'missing id')}; first at data row {missing[0] + 1}")
    for row, value in enumerate(listed):
        if not _text(value):
            raise PriveeError(f"party {party}: ids must be Unicode text; data row {row + 1} holds something else")
    _refuse_duplicates(listed, party)
    return listed


def in_common_order(ids: Sequence[str], rows: Iterable[int]) -> Rows:
    """Rows sorted by the bytes of their ids: every holder of the same ids arrives at the same order by itself."""
    return np.array(sorted(rows, key=lambda row: ids[row].encode()), dtype=np.int64)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and math.isnan(value))


def _text(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(value.encode())
    except UnicodeEncodeError:  # half a surrogate pair, which no UTF-8 file can hold
        return False


def _refuse_duplicates(ids: list[str], party: str) -> None:
    first: dict[str, int] = {}
    twice: set[str] = set()
    place: tuple[int, int] | None = None
    for row, value in enumerate(ids):
        earlier = first.setdefault(value, row)
        if earlier != row:
            twice.add(value)
            place = place or (earlier + 1, row + 1)
    if place:
        raise PriveeError(
            f"party {party} has {_count(len(twice), 'duplicate id')}; first at data rows {place[0]} and {place[1]}"
        )


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}" + ("" if n == 1 else "s")
